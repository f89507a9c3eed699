# Kills the process groups of an engine that is gone, however it died. Reads
# "+ GROUP" and "- GROUP" lines; the end of input means that nobody holds the
# pipe any more.
trap '' HUP INT QUIT TERM
live=' '
while read -r op id; do
	case $op in
	+) live="$live$id " ;;
	-) case $live in *" $id "*) live="${live%% $id *} ${live#* $id }" ;; esac ;;
	esac
done
for id in $live; do
	kill -s KILL -- "-$id"
done
