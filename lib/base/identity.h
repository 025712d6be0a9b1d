/* Who somebody is: a kind and a name, written unix:alice, cert:campus, node:n1. The same name of
 * two kinds is two people, so identities are compared whole, as texts. People may leave the kind
 * out; which one is meant then is found out once, where the word comes in (cmd/phxd/identity.c),
 * and not here. Pure. */
#ifndef PHX_BASE_IDENTITY_H
#define PHX_BASE_IDENTITY_H

#include "base/util.h"

enum phx_identity_kind {
	PHX_IDENTITY_UNIX, /* a user of the head */
	PHX_IDENTITY_CERT, /* a person's certificate of that name */
	PHX_IDENTITY_NODE, /* a node's */
	PHX_IDENTITY_KINDS,
};

/** Room for one as text: the longest kind, a colon, a name. */
enum { PHX_IDENTITY_MAX = PHX_NAME_MAX + 8 };

struct phx_identity {
	int kind; /* enum phx_identity_kind; PHX_IDENTITY_KINDS: it was not said */
	char name[PHX_NAME_MAX];
};

/** A word that people write. A user's name is whatever accounts may be called: no blank, comma,
 * colon, slash, quote or control character; others are names as ours. Without a kind it may be
 * either. -EINVAL with what would be right, as the end of a sentence about the word. */
int phx_identity_parse(const char *text, struct phx_identity *ret, struct phx_err *err);
/** Does it say its kind, rightly? */
bool phx_identity_is_typed(const char *text);
/** As text; "" where there is no name, or none that fits. */
void phx_identity_format(enum phx_identity_kind kind, const char *name, char ret[PHX_IDENTITY_MAX]);
/** Is `text` that one of this kind? A word without a kind is not. */
bool phx_identity_is(const char *text, enum phx_identity_kind kind, const char *name);

/** Is this word in a list of words with blanks or commas between them? */
bool phx_words_have(const char *list, const char *word);
/** Adds a word to such a list, if it is not there. -E2BIG: it does not fit. */
int phx_words_add(char *list, size_t list_size, const char *word);
/** Takes a word out. False: it is not there. */
bool phx_words_remove(char *list, const char *word);
/** The first word of `*at`, cut to fit; *at goes behind it. False: there is none. */
bool phx_words_next(const char **at, char *ret, size_t ret_size);

#endif
