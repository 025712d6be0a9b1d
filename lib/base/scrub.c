/* See scrub.h. Called by phx node report. */
#include "base/scrub.h"

#include <ctype.h>
#include <string.h>

/* Behind such a name stands a secret; parts of names, in lower case. */
static const char *const names[] = {"password", "passwd", "passphrase", "secret",    "token",
				    "private",  "psk",    "credential", "community", "phx.start",
				    "api_key",  "apikey", "bearer",     "cookie",    "csrf"};
/* Members whose name is exactly this: of others "key" is part of much that is public. */
static const char *const exact[] = {"key_pem", "hash", "pin", "start", "shadow"};

static bool names_secret(const char *name, size_t n)
{
	char lower[64];
	n = n < sizeof(lower) - 1 ? n : sizeof(lower) - 1;
	for (size_t i = 0; i < n; i++)
		lower[i] = (char)(name[i] == '-' ? '_' : tolower((unsigned char)name[i]));
	lower[n] = '\0';
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		if (strstr(lower, names[i]))
			return true;
	return false;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static void left_out(struct phx_buf *to)
{
	phx_buf_addf(to, PHX_SCRUBBED);
}

/* ---- what a secret looks like: each returns how many bytes of `p` it is, 0 none ---- */

/* A private key, to its end or that of the text. */
static size_t private_key(const char *p)
{
	if (!phx_str_starts(p, "-----BEGIN "))
		return 0;
	const char *line = p + strcspn(p, "\n");
	const char *word = strstr(p, "PRIVATE KEY");
	if (!word || word > line)
		return 0;
	const char *end = strstr(word, "-----END ");
	return end ? (size_t)(end - p) + strcspn(end, "\n") : strlen(p);
}

/* A hash as crypt(3) makes them: "$6$...". */
static size_t password_hash(const char *p)
{
	size_t kind = *p == '$' ? strspn(p + 1, "0123456789abcdefghijklmnopqrstuvwxyz") : 0;
	if (!kind || kind > 12 || p[1 + kind] != '$')
		return 0;
	size_t n = 2 + kind;
	while (isalnum((unsigned char)p[n]) || (p[n] && strchr("$./=,+", p[n])))
		n++;
	return n > 12 ? n : 0;
}

/* "//USER:PASSWORD@" of a URL; *ret_skip is how much of it stays. */
static size_t url_password(const char *p, size_t *ret_skip)
{
	if (!phx_str_starts(p, "//"))
		return 0;
	size_t n = 2 + strcspn(p + 2, " \t\n/\"'?#");
	const char *at = memrchr(p, '@', n), *colon = memchr(p + 2, ':', n - 2);
	if (!at || !colon || colon > at)
		return 0;
	*ret_skip = (size_t)(colon + 1 - p);
	return (size_t)(at - colon - 1);
}

/* The value behind a name, its separator and quotes: "NAME=VALUE", "NAME": "VALUE", NAME VALUE is
 * none. *ret_skip: to the value. */
static size_t named_value(const char *p, size_t *ret_skip)
{
	size_t n = 0;
	while (is_word(p[n]))
		n++;
	if (!n || !names_secret(p, n))
		return 0;
	size_t i = n + (p[n] == '"' || p[n] == '\'');
	i += strspn(p + i, " \t");
	if (p[i] != '=' && p[i] != ':')
		return 0;
	i += 1 + strspn(p + i + 1, " \t");
	char quote = p[i] == '"' || p[i] == '\'' ? p[i++] : '\0';
	char ends[] = {quote ? quote : ' ', '\n', '\0'};
	*ret_skip = i;
	size_t value = strcspn(p + i, quote ? ends : " \t\n,;");
	/* "Authorization: Basic x", "token: Bearer x" */
	if (!quote && (phx_str_starts(p + i, "Basic ") || phx_str_starts(p + i, "Bearer ")))
		value = strcspn(p + i, "\n");
	return value;
}

static size_t authorization(const char *p, size_t *ret_skip)
{
	*ret_skip = strlen("Authorization: ");
	return strncasecmp(p, "Authorization: ", *ret_skip) ? 0 : strcspn(p + *ret_skip, "\n");
}

/* ---- texts ---- */

/* One secret at `p`, or one word or byte that is none; how far it goes. */
static size_t scrub_one(const char *p, struct phx_buf *to)
{
	size_t skip = 0, n = private_key(p);
	n = n ? n : password_hash(p);
	n = n ? n : url_password(p, &skip);
	n = n ? n : authorization(p, &skip);
	n = n ? n : named_value(p, &skip);
	if (n) {
		phx_buf_add(to, p, skip);
		left_out(to);
		return skip + n;
	}
	for (n = 0; is_word(p[n]);)
		n++;
	n = n && !phx_str_starts(p, "-----BEGIN ") ? n : 1;
	phx_buf_add(to, p, n);
	return n;
}

void phx_scrub_text(const char *text, struct phx_buf *to)
{
	phx_buf_addf(to, "%s", "");
	while (*text)
		text += scrub_one(text, to);
}

/* ---- JSON ---- */

static json_t *scrub_string(const char *text)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	phx_scrub_text(text, &b);
	return b.failed ? NULL : json_string_nocheck(b.data);
}

/* A secret is a text, or an object or list of some; numbers and booleans say no more than whether
 * there is one. */
static json_t *scrub_member(const char *name, const json_t *j)
{
	bool secret = names_secret(name, strlen(name));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(exact) && !secret; i++)
		secret = !strcasecmp(name, exact[i]);
	bool holds = json_is_object(j) || json_is_array(j) ||
		(json_is_string(j) && json_string_length(j));
	return secret && holds ? json_string(PHX_SCRUBBED) : phx_scrub_json(j);
}

json_t *phx_scrub_json(const json_t *j)
{
	const char *name;
	json_t *value, *copy;
	size_t i;
	if (json_is_string(j))
		return scrub_string(json_string_value(j));
	if (json_is_array(j)) {
		copy = json_array();
		json_array_foreach(j, i, value)
			json_array_append_new(copy, phx_scrub_json(value));
		return copy;
	}
	if (!json_is_object(j))
		return json_deep_copy(j);
	copy = json_object();
	json_object_foreach((json_t *)j, name, value)
		json_object_set_new_nocheck(copy, name, scrub_member(name, value));
	return copy;
}
