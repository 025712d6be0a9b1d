/* Identities: a kind and a name, written unix:alice, cert:campus, node:n1. The same name of two
 * kinds means two people, so identities are compared as whole texts. People may leave the kind out;
 * cmd/phxd/identity.c finds out once, on input, which one is meant. Pure. */
#ifndef PHX_BASE_IDENTITY_H
#define PHX_BASE_IDENTITY_H

#include "base/util.h"

enum phx_identity_kind {
	PHX_IDENTITY_UNIX, /* a user of the head */
	PHX_IDENTITY_CERT, /* a person's certificate of that name */
	PHX_IDENTITY_NODE, /* the certificate of a node */
	PHX_IDENTITY_KINDS,
};

/** Room for an identity as text: the longest kind, a colon, a name. */
enum { PHX_IDENTITY_MAX = PHX_NAME_MAX + 8 };

struct phx_identity {
	int kind; /* enum phx_identity_kind; PHX_IDENTITY_KINDS: the text has none */
	char name[PHX_NAME_MAX];
};

/** Parses an identity that a person wrote. The name of a user, or one without a kind, is any that
 * accounts can have: no blank, comma, colon, slash, quote or control character; names of other
 * kinds must be phx_name_valid(). -EINVAL with a text that says what would be right, to follow the
 * word in a sentence. */
int phx_identity_parse(const char *text, struct phx_identity *ret, struct phx_err *err);
/** Has the text a valid kind and name? */
bool phx_identity_is_typed(const char *text);
/** Formats an identity; "" if the name is empty or does not fit. */
void phx_identity_format(enum phx_identity_kind kind, const char *name, char ret[PHX_IDENTITY_MAX]);
/** Is `text` the identity of this kind and name? A text without a kind is not. */
bool phx_identity_is(const char *text, enum phx_identity_kind kind, const char *name);

/** Is `word` in a list of words that are separated by blanks or commas? */
bool phx_words_have(const char *list, const char *word);
/** Adds a word to such a list, if it is not there. -E2BIG: it does not fit. */
int phx_words_add(char *list, size_t list_size, const char *word);
/** Removes a word. False: it is not in the list. */
bool phx_words_remove(char *list, const char *word);
/** Copies the first word at `*at`, truncated to fit, and moves *at behind it. False: there is
 * none. */
bool phx_words_next(const char **at, char *ret, size_t ret_size);

#endif
