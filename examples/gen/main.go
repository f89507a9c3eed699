// Command gen writes the customers of examples/customers.csv: always the same
// ones, with what real exports hold: commas, quotes and line breaks inside
// fields, names of many scripts, missing addresses, and a few broken rows.
//
//	go run ./examples/gen > examples/customers.csv
package main

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

const (
	rows = 10_000
	seed = 20_260_301
)

// place is where customers live, and what they are called there.
type place struct {
	country, dial string
	cities        []string
	given, family []string
	familyFirst   bool
	latin         []string // the names' spelling in e-mail addresses
}

var places = []place{
	{"DK", "+45", []string{"København", "Århus", "Odense"}, []string{"Søren", "Åse", "Mette", "Jens"}, []string{"Sørensen", "Østergaard", "Møller", "Holm"}, false, []string{"soeren", "aase", "mette", "jens"}},
	{"DE", "+49", []string{"Köln", "München", "Berlin"}, []string{"Jürgen", "Änne", "Lukas", "Greta"}, []string{"Müller", "Weiß", "Schröder", "Vogt"}, false, []string{"juergen", "aenne", "lukas", "greta"}},
	{"FR", "+33", []string{"Paris", "Orléans", "Nîmes"}, []string{"Zoé", "François", "Léa", "Hugo"}, []string{"Lefèvre", "D'Amours", "Garçon", "Roux"}, false, []string{"zoe", "francois", "lea", "hugo"}},
	{"BR", "+55", []string{"São Paulo", "Brasília", "Recife"}, []string{"João", "Conceição", "Luíza", "Caio"}, []string{"Araújo", "da Silva, Jr.", "Magalhães", "Nunes"}, false, []string{"joao", "conceicao", "luiza", "caio"}},
	{"KR", "+82", []string{"서울", "부산", "대구"}, []string{"서연", "민준", "지우", "하은"}, []string{"김", "이", "박", "최"}, true, []string{"seoyeon", "minjun", "jiwoo", "haeun"}},
	{"JP", "+81", []string{"東京", "大阪", "札幌"}, []string{"さくら", "陽菜", "蓮", "大翔"}, []string{"佐藤", "鈴木", "高橋", "田中"}, true, []string{"sakura", "hina", "ren", "hiroto"}},
	{"UA", "+380", []string{"Київ", "Львів", "Одеса"}, []string{"Оксана", "Тарас", "Їва", "Дмитро"}, []string{"Шевченко", "Коваленко", "Бойко", "Лисенко"}, false, []string{"oksana", "taras", "yiva", "dmytro"}},
	{"GR", "+30", []string{"Αθήνα", "Πάτρα", "Χανιά"}, []string{"Ελένη", "Γιώργος", "Νίκος", "Μαρία"}, []string{"Παπαδόπουλος", "Αγγέλου", "Βασιλείου", "Οικονόμου"}, false, []string{"eleni", "giorgos", "nikos", "maria"}},
	{"EG", "+20", []string{"القاهرة", "الجيزة", "أسوان"}, []string{"فاطمة", "محمد", "ليلى", "يوسف"}, []string{"حسن", "السيد", "إبراهيم", "منصور"}, false, []string{"fatma", "mohamed", "layla", "youssef"}},
	{"IN", "+91", []string{"मुंबई", "दिल्ली", "ಬೆಂಗಳೂರು"}, []string{"प्रिया", "अर्जुन", "ஆனந்த்", "মীরা"}, []string{"शर्मा", "पटेल", "ஐயர்", "দাস"}, false, []string{"priya", "arjun", "anand", "mira"}},
	{"US", "+1", []string{"Springfield", "Portland", "St. Louis"}, []string{"Mary Ann", "William \"Bill\"", "Noah", "Renée"}, []string{"O'Neill", "Smith", "Nguyen", "Walker, III"}, false, []string{"maryann", "bill", "noah", "renee"}},
}

var notes = []string{
	"", "", "", "", "", "", "prefers e-mail",
	"calls before noon, never after",
	"said: \"ship it with the next order\"",
	"Flat 3\n2nd floor, ring twice",
	"VIP 🎉; see contract, page 4",
	"moved\r\nnew address pending",
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	if err := write(out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(out io.Writer) error {
	r := rand.New(rand.NewPCG(seed, 0))
	w := csv.NewWriter(out)
	if err := w.Write([]string{"id", "name", "email", "phone", "city", "country", "plan", "spent", "signup", "note"}); err != nil {
		return err
	}
	for i := range rows {
		if err := w.Write(broken(r, i, customer(r, i))); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func customer(r *rand.Rand, i int) []string {
	p := pick(r, places)
	g := r.IntN(len(p.given))
	family := pick(r, p.family)
	name := p.given[g] + " " + family
	if p.familyFirst {
		name = family + p.given[g]
	}
	email := fmt.Sprintf("%s.%d@mail.example", p.latin[g], 1000+i)
	if r.IntN(80) == 0 {
		email = "" // left out at the till
	}
	plan := "free"
	switch n := r.IntN(100); {
	case n < 4:
		plan = "enterprise"
	case n < 30:
		plan = "pro"
	}
	spent := float64(r.IntN(20_000)) / 100
	if plan != "free" {
		spent += float64(r.IntN(400_000)) / 100
	}
	return []string{
		fmt.Sprint(1000 + i), name, email,
		fmt.Sprintf("%s%09d", p.dial, r.IntN(1_000_000_000)),
		pick(r, p.cities), p.country, plan, fmt.Sprintf("%.2f", spent),
		fmt.Sprintf("%04d-%02d-%02d", 2015+r.IntN(11), 1+r.IntN(12), 1+r.IntN(28)),
		pick(r, notes),
	}
}

// broken damages about 3 rows in a thousand as exports do: a field lost, an
// unquoted comma, a name in another encoding.
func broken(r *rand.Rand, i int, row []string) []string {
	if i < 100 || r.IntN(1000) >= 3 {
		return row
	}
	switch r.IntN(3) {
	case 0:
		return row[:len(row)-2]
	case 1:
		return append(row, "imported")
	}
	row[1] = strings.Join([]string{"Ren\xe9e", "Dup\xf3nt"}, " ")
	return row
}
