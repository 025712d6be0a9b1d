/* Identities as text: see identity.h. Called by code that reads an owner or a member, and by the
 * daemon for its callers. Pure. */
#include "base/identity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEPARATORS " ,"

static const char *const kinds[] = {"unix", "cert", "node"};

/* May an account, which others name, be called this? */
static bool is_account(const char *name)
{
	size_t n = strlen(name);
	for (const char *p = name; *p; p++)
		if ((unsigned char)*p <= 0x20 || *p == 0x7f || strchr(":/\"',", *p))
			return false;
	return n && n < PHX_NAME_MAX && strcmp(name, "*") != 0;
}

static bool fits(int kind, const char *name)
{
	return kind == PHX_IDENTITY_CERT || kind == PHX_IDENTITY_NODE ? phx_name_valid(name)
								      : is_account(name);
}

int phx_identity_parse(const char *text, struct phx_identity *ret, struct phx_err *err)
{
	struct phx_identity is = {.kind = PHX_IDENTITY_KINDS};
	const char *colon = strchr(text, ':'), *name = colon ? colon + 1 : text;
	size_t n_kind = colon ? (size_t)(colon - text) : 0;
	for (int i = 0; colon && i < PHX_IDENTITY_KINDS; i++)
		if (strlen(kinds[i]) == n_kind && !memcmp(kinds[i], text, n_kind))
			is.kind = i;
	if ((colon && is.kind == PHX_IDENTITY_KINDS) || !fits(is.kind, name))
		return phx_err_set(err, -EINVAL,
				   "is nobody: unix:NAME is a user of the head, cert:NAME a "
				   "certificate, node:NAME a node");
	PHX_STR_SET(is.name, name);
	*ret = is;
	return 0;
}

bool phx_identity_is_typed(const char *text)
{
	struct phx_identity is;
	return phx_identity_parse(text, &is, NULL) == 0 && is.kind != PHX_IDENTITY_KINDS;
}

void phx_identity_format(enum phx_identity_kind kind, const char *name, char ret[PHX_IDENTITY_MAX])
{
	ret[0] = '\0';
	if (fits((int)kind, name))
		snprintf(ret, PHX_IDENTITY_MAX, "%s:%s", kinds[kind], name);
}

bool phx_identity_is(const char *text, enum phx_identity_kind kind, const char *name)
{
	char whole[PHX_IDENTITY_MAX];
	phx_identity_format(kind, name, whole);
	return whole[0] && !strcmp(text, whole);
}

/* Where the next word begins. NULL: none. */
static const char *find_word(const char *at, size_t *ret_n)
{
	at += strspn(at, SEPARATORS);
	*ret_n = strcspn(at, SEPARATORS);
	return *ret_n ? at : NULL;
}

bool phx_words_have(const char *list, const char *word)
{
	size_t n, n_word = strlen(word);
	for (const char *at = list; n_word && (at = find_word(at, &n)); at += n)
		if (n == n_word && !memcmp(at, word, n))
			return true;
	return false;
}

bool phx_words_next(const char **at, char *ret, size_t ret_size)
{
	size_t n;
	const char *word = find_word(*at, &n);
	if (!word)
		return false;
	snprintf(ret, ret_size, "%.*s", (int)n, word);
	*at = word + n;
	return true;
}

int phx_words_add(char *list, size_t list_size, const char *word)
{
	size_t n = strlen(list), n_word = strlen(word);
	if (phx_words_have(list, word))
		return 0;
	if (n + (n > 0) + n_word >= list_size)
		return -E2BIG;
	snprintf(list + n, list_size - n, "%s%s", n ? " " : "", word);
	return 0;
}

bool phx_words_remove(char *list, const char *word)
{
	size_t n, n_word = strlen(word);
	for (const char *at = list; n_word && (at = find_word(at, &n)); at += n) {
		if (n != n_word || memcmp(at, word, n) != 0)
			continue;
		char *to = list + (at - list);
		const char *rest = at + n + strspn(at + n, SEPARATORS);
		memmove(to, rest, strlen(rest) + 1);
		while (!*to && to > list && strchr(SEPARATORS, to[-1]))
			*--to = '\0';
		return true;
	}
	return false;
}
