# The catalogue of the system's log (journalctl -x), of lib/state/event.def and lib/outlet/news.def, in this order: an entry for each
# kind of event. Run by `make install`.
match($0, /^EVENT\([a-z_]+, "[^"]+"/) {
	split(substr($0, RSTART, RLENGTH), part, "\"")
	kind = part[1]
	gsub(/EVENT\(|, $/, "", kind)
	phrase[kind] = part[2]
}
match($0, /^NEWS\([a-z_]+,.*"[0-9a-f]+"/) {
	split($0, part, "\"")
	kind = substr($0, 6, index($0, ",") - 6)
	printf "-- %s\nSubject: %s\nDefined-By: Phoenix\nDocumentation: man:phoenix.conf(5)\n\n", part[2], phrase[kind]
	printf "Event @PHX_SEQ@ of the journal of phxd, of the kind %s. phx events\nshows what came before it, phx node show what became of a node.\n\n", kind
}
