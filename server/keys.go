package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"sync"
	"time"

	"github.com/spillway/spillway"
	"github.com/spillway/spillway/ledger"
)

// keyKind is the kind of setting under which the ledger holds API keys.
const keyKind = "key"

// How long a list of keys is believed: a key made or revoked by another
// instance counts after keysFresh; if the ledger does not answer, keys are
// believed until keysStale and then none is.
const (
	keysFresh = 2 * time.Second
	keysStale = 10 * time.Second
)

// Key is an API key without its secret.
type Key struct {
	ID        string            `json:"id" example:"k_5f0c9a1e2b3d"`
	Tenant    spillway.TenantID `json:"tenant,omitempty" doc:"The one tenant that the key sees."`
	Admin     bool              `json:"admin" doc:"The key sees and may do everything."`
	Label     string            `json:"label,omitempty" doc:"What the key is for."`
	CreatedAt time.Time         `json:"created_at"`
	CreatedBy string            `json:"created_by,omitempty"`
}

// storedKey is a key as the ledger holds it.
type storedKey struct {
	Key
	// Hash is the SHA-256 of the secret, which has 256 random bits: nothing
	// slower is needed.
	Hash []byte `json:"hash"`
}

// Keys is the API keys in a ledger. Its methods may be called concurrently.
type Keys struct {
	store ledger.Settings
	mu    struct {
		sync.Mutex
		byHash map[[sha256.Size]byte]storedKey
		loaded time.Time
	}
}

// NewKeys is the keys of a ledger.
func NewKeys(store ledger.Settings) *Keys { return &Keys{store: store} }

// Create makes a key and returns its secret, which is not kept: this is the
// only time that it can be seen. Either a tenant or admin must be given.
func (k *Keys) Create(ctx context.Context, now time.Time, key Key) (_ Key, secret string, err error) {
	if (key.Tenant == "") != key.Admin {
		return Key{}, "", spillway.Errorf(spillway.CodeInvalid, "a key is for one tenant, or it is an admin's: give tenant or admin, not both")
	}
	if len(key.Tenant) > 200 || len(key.Label) > 200 {
		return Key{}, "", spillway.Errorf(spillway.CodeInvalid, "tenant and label may have at most 200 bytes")
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	secret = "sw_" + base64.RawURLEncoding.EncodeToString(random[:])
	hash := sha256.Sum256([]byte(secret))
	key.ID, key.CreatedAt = "k_"+hex.EncodeToString(hash[:6]), now.UTC()
	value, err := json.Marshal(storedKey{Key: key, Hash: hash[:]})
	if err != nil {
		return Key{}, "", err
	}
	err = k.store.Save(ctx, now, []ledger.Setting{{Kind: keyKind, Name: key.ID, Value: value, By: key.CreatedBy}})
	k.forget()
	return key, secret, err
}

// List lists the keys, in order of id.
func (k *Keys) List(ctx context.Context) ([]Key, error) {
	stored, err := k.load(ctx)
	keys := make([]Key, 0, len(stored))
	for _, s := range stored {
		keys = append(keys, s.Key)
	}
	return keys, err
}

// Revoke ends a key: at once here, within seconds on other instances.
func (k *Keys) Revoke(ctx context.Context, now time.Time, id, by string) error {
	stored, err := k.load(ctx)
	if err != nil {
		return err
	}
	for _, s := range stored {
		if s.ID == id {
			defer k.forget()
			return k.store.Save(ctx, now, []ledger.Setting{{Kind: keyKind, Name: id, By: by}})
		}
	}
	return spillway.Errorf(spillway.CodeNotFound, "there is no key %q", id)
}

// Find returns the key of a secret; any says whether there are keys at all.
func (k *Keys) Find(ctx context.Context, now time.Time, secret string) (key Key, found, any bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.refreshLocked(ctx, now); err != nil {
		return Key{}, false, false, err
	}
	hash := sha256.Sum256([]byte(secret))
	s, ok := k.mu.byHash[hash]
	ok = ok && subtle.ConstantTimeCompare(s.Hash, hash[:]) == 1
	return s.Key, ok, len(k.mu.byHash) > 0, nil
}

func (k *Keys) refreshLocked(ctx context.Context, now time.Time) error {
	age := now.Sub(k.mu.loaded)
	if k.mu.byHash != nil && age < keysFresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysFresh)
	defer cancel()
	stored, err := k.load(ctx)
	if err != nil {
		if k.mu.byHash != nil && age < keysStale {
			return nil
		}
		return err
	}
	byHash := make(map[[sha256.Size]byte]storedKey, len(stored))
	for _, s := range stored {
		byHash[[sha256.Size]byte(s.Hash)] = s
	}
	k.mu.byHash, k.mu.loaded = byHash, now
	return nil
}

func (k *Keys) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.mu.byHash = nil
}

func (k *Keys) load(ctx context.Context) ([]storedKey, error) {
	settings, err := k.store.Load(ctx, keyKind)
	if err != nil {
		return nil, err
	}
	stored := make([]storedKey, 0, len(settings))
	for _, s := range settings {
		var key storedKey
		if err := json.Unmarshal(s.Value, &key); err != nil || len(key.Hash) != sha256.Size {
			return nil, spillway.Errorf(spillway.CodeInternal, "the stored key %s is damaged", s.Name)
		}
		stored = append(stored, key)
	}
	return stored, nil
}
