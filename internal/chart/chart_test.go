package chart_test

import (
	"fmt"

	"github.com/spillway/spillway/internal/chart"
)

func ExampleColumns() {
	seconds := func(column int) string { return fmt.Sprintf("%ds", column/5) }
	fmt.Print(chart.Columns([]int64{10, 10, 7, 5, 5, 1, 0, 0, 3, 30}, 4, 10, 5, seconds))
	// Output:
	// 10 |##       ^
	//    |###      #
	//  5 |#####    #
	//    |#####.  ##
	//  0 ++----+----
	//     0s   1s
}
