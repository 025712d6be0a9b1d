# The commands that a page of the manual says, for who follows it word by word.

# words PAGE SECTION N: those of its blocks of code, one a line; a section that has fewer than N is not the one that is meant
words() {
	local said
	said=$(awk -v of="# $2" '/^# / { in_it = $0 == of } /^```/ { code = !code; next } in_it && code' "$1")
	[ "$(grep -c . <<<"$said")" -ge "$3" ] || { echo "fewer than $3 commands in $2 of $1" >&2 && return 1; }
	echo "$said"
}
