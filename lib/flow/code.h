/* Which words of a command an interpreter runs as code: the text behind `sh -c`, `perl -ne`,
 * `python3 -c`, the first word of awk, and so on. A word that others choose must not stand there.
 * What stands behind the code, or behind the name of a script, are arguments, unless one of them is
 * an interpreter again (sh -c 'exec "$@"' sh perl -e CODE). Where it is not known whether a word is
 * code, it is. Pure. */
#ifndef PHX_FLOW_CODE_H
#define PHX_FLOW_CODE_H

#include <stdbool.h>

/** How far a command has been looked at; zeroed before its first word. */
struct phx_code_look {
	const struct phx_code_language *in; /* the interpreter that was named last; NULL: none */
	int place;                          /* of the next word */
	bool is_next;                       /* the next word is code, by the option before it */
	bool other_next;                    /* the next word belongs to the option before it */
	bool shell_code;   /* of a shell: -c was there, so that its first operand is code */
	bool has_code;     /* code was there */
	bool unsure;       /* the next word may belong to an option that is not known */
	bool behind_shell; /* the next word is what the shell calls itself, most often */
	bool only_named;   /* it was such a word that named the interpreter */
};

/** What a word of a command is. */
enum phx_code_word {
	PHX_CODE_NONE,
	PHX_CODE_OPTION, /* none, but it would be an option if it began with '-' */
	PHX_CODE_IS,     /* code, or it contains some */
};

/** Looks at the next word of a command. *ret_what (may be NULL): who would run it, as "a shell" or
 * "perl", where it is not PHX_CODE_NONE. Texts are static. */
enum phx_code_word phx_code_next(struct phx_code_look *look, const char *word,
				 const char **ret_what);

#endif
