package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
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
	admin bool // an admin's key is configured, besides those stored
	mu    struct {
		sync.Mutex
		byHash map[[sha256.Size]byte]storedKey
		loaded time.Time
	}
}

// NewKeys is the keys of a ledger. admin says that there is an admin's key
// beside them, in the configuration.
func NewKeys(store ledger.Settings, admin bool) *Keys { return &Keys{store: store, admin: admin} }

// Create makes a key and returns its secret, which is not kept: this is the
// only time that it can be seen. Either a tenant or admin must be given. The
// first key must be an admin's: it ends the time in which none is needed.
func (k *Keys) Create(ctx context.Context, now time.Time, key Key) (_ Key, secret string, err error) {
	if (key.Tenant == "") != key.Admin {
		return Key{}, "", spillway.Errorf(spillway.CodeInvalid, "a key is for one tenant, or it is an admin's: give tenant or admin, not both")
	}
	if len(key.Tenant) > 200 || len(key.Label) > 200 {
		return Key{}, "", spillway.Errorf(spillway.CodeInvalid, "tenant and label may have at most 200 bytes")
	}
	if err := k.needsAdmin(ctx, key); err != nil {
		return Key{}, "", err
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

// needsAdmin refuses a tenant's key while nobody could look after it.
func (k *Keys) needsAdmin(ctx context.Context, key Key) error {
	if key.Admin || k.admin {
		return nil
	}
	stored, err := k.load(ctx)
	if err != nil || slices.ContainsFunc(stored, func(s storedKey) bool { return s.Admin }) {
		return err
	}
	return spillway.Errorf(spillway.CodeState, "there is no admin's key yet, and with keys every call needs one: create an admin's key first (spillway keys create --admin), or set SPILLWAY_ADMIN_KEY")
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
	for i, s := range stored {
		if s.ID == id {
			if err := k.lastAdmin(slices.Delete(slices.Clone(stored), i, i+1), s); err != nil {
				return err
			}
			defer k.forget()
			return k.store.Save(ctx, now, []ledger.Setting{{Kind: keyKind, Name: id, By: by}})
		}
	}
	return spillway.Errorf(spillway.CodeNotFound, "there is no key %q", id)
}

// lastAdmin refuses to end the last key that could look after those that stay.
func (k *Keys) lastAdmin(stay []storedKey, ended storedKey) error {
	admin := func(s storedKey) bool { return s.Admin }
	if !ended.Admin || k.admin || len(stay) == 0 || slices.ContainsFunc(stay, admin) {
		return nil
	}
	return spillway.Errorf(spillway.CodeState, "%s is the last admin's key, and tenants' keys remain: create another admin's key first", ended.ID)
}

// RevokeTenant ends all keys of a tenant, and says how many.
func (k *Keys) RevokeTenant(ctx context.Context, now time.Time, t spillway.TenantID, by string) (int, error) {
	stored, err := k.load(ctx)
	if err != nil {
		return 0, err
	}
	var ended []ledger.Setting
	for _, s := range stored {
		if !s.Admin && s.Tenant == t {
			ended = append(ended, ledger.Setting{Kind: keyKind, Name: s.ID, By: by})
		}
	}
	if len(ended) == 0 {
		return 0, nil
	}
	defer k.forget()
	return len(ended), k.store.Save(ctx, now, ended)
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
