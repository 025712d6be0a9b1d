/* Cuts out of sentences what the person who asks may not know: ids of disks, selectors that name
 * disks, and addresses; what services and health checks wrote; and which versions nodes run.
 * Called by the requests that read, with each sentence of a node and each note of an event. Reads
 * and changes nothing else. */
#include "phxd/view_hide.h"

#include <string.h>

#include "base/address.h"
#include "base/util.h"

enum { ADDRESS_LEAST = 3, ADDRESS_MOST = 45 };

static bool is_id_char(char c)
{
	return c &&
		(strchr("-.+_", c) || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		 (c >= 'A' && c <= 'Z'));
}

bool view_is_address(const char *text, size_t n)
{
	char word[ADDRESS_MOST + 1];
	if (n < ADDRESS_LEAST || n > ADDRESS_MOST)
		return false;
	memcpy(word, text, n);
	word[n] = '\0';
	return phx_address_valid(word);
}

/* Each of the following returns the length of what is to be cut at `at`, before which `before`
 * stands; *ret_kept: so much of it stays. 0: nothing begins there. */

/* Of "serial-ST4-ZC1" "serial-" stays. */
static size_t disk_at(const char *at, char before, bool json, size_t *ret_kept)
{
	static const char *const begins[] = {"wwn-", "serial-"};
	size_t n = 0;
	(void)json;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(begins) && !is_id_char(before); i++)
		n = phx_str_starts(at, begins[i]) ? strlen(begins[i]) : n;
	*ret_kept = n;
	while (n && is_id_char(at[n]))
		n++;
	return n;
}

static size_t address_at(const char *at, char before, bool json, size_t *ret_kept)
{
	size_t n = is_id_char(before) ? 0 : strspn(at, "0123456789abcdefABCDEF.:");
	(void)json;
	*ret_kept = 0;
	/* at the end of a sentence, or before what is said of it */
	while (n && strchr(".:", at[n - 1]) && !view_is_address(at, n))
		n--;
	/* with a port behind it */
	size_t host = strcspn(at, ":");
	if (host < n && !view_is_address(at, n) && view_is_address(at, host))
		n = host;
	return (at[n] == '.' || !is_id_char(at[n])) && view_is_address(at, n) ? n : 0;
}

/* The number of bytes from `at`, of which `n` are known, up to the end of the sentence. */
static size_t to_end(const char *at, size_t n, bool json)
{
	while (at[n] && !(json && at[n] == '"'))
		n += json && at[n] == '\\' && at[n + 1] ? 2 : 1;
	return n;
}

/* The selector by which a disk is protected may name it in many ways, in characters of all kinds:
 * all behind the name of the setting, up to the end of the sentence. */
static size_t selector_at(const char *at, char before, bool json, size_t *ret_kept)
{
	static const char setting[] = "protected_disks: ";
	*ret_kept = 0;
	if (is_id_char(before) || !phx_str_starts(at, setting))
		return 0;
	*ret_kept = strlen(setting);
	return to_end(at, *ret_kept, json);
}

#define NUMBER "-0123456789"
#define NAME "-._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Behind which words a sentence goes on with what a program wrote. `word`: of these characters
 * there is a number or a name between the two. */
static const struct {
	const char *begins, *word, *ends;
} outputs[] = {
	{"status ", NUMBER, ": "}, /* of a service, of a health check, of a package's program */
	{"service ", NAME, ": "},  /* that could not start */
	{"not healthy", "", ": "},
};

/* All behind it, up to the end of the sentence. */
static size_t output_at(const char *at, char before, bool json, size_t *ret_kept)
{
	*ret_kept = 0;
	for (size_t i = 0; i < PHX_ARRAY_SIZE(outputs) && !*ret_kept && !is_id_char(before); i++) {
		if (!phx_str_starts(at, outputs[i].begins))
			continue;
		size_t n = strlen(outputs[i].begins);
		n += strspn(at + n, outputs[i].word);
		*ret_kept = phx_str_starts(at + n, outputs[i].ends) ? n : 0;
	}
	return *ret_kept ? to_end(at, *ret_kept, json) : 0;
}

static size_t word_at(const char *at)
{
	size_t n = 0;
	while (is_id_char(at[n]))
		n++;
	return n;
}

/* "IMAGE@VERSION PACKAGE-VERSION ...", of which the name of the image stays. */
static size_t versions_at(const char *at, char before, bool json, size_t *ret_kept)
{
	size_t n = is_id_char(before) ? 0 : word_at(at),
	       version = at[n] == '@' ? word_at(at + n + 1) : 0;
	(void)json;
	*ret_kept = n;
	if (!n || !version)
		return 0;
	n += 1 + version;
	for (size_t m; at[n] == ' ' && (m = word_at(at + n + 1)) && memchr(at + n + 1, '-', m);)
		n += 1 + m;
	return n;
}

static const struct {
	unsigned what;
	size_t (*at)(const char *at, char before, bool json, size_t *ret_kept);
	size_t dots; /* at most, in place of what is cut */
} cuts[] = {
	{VIEW_HIDE_HARDWARE, disk_at, 3},
	{VIEW_HIDE_HARDWARE, address_at, 3},
	{VIEW_HIDE_HARDWARE, selector_at, 3},
	/* as far as it goes */
	{VIEW_HIDE_SAID, output_at, 0},
	{VIEW_HIDE_SOFTWARE, versions_at, 3},
};

/* The length of an escaped character, which no word goes on from; 0: there is none. */
static size_t escape_at(const char *at, bool json)
{
	return !json || at[0] != '\\' || !at[1] ? 0 : at[1] == 'u' ? strnlen(at, 6) : 2;
}

size_t view_hide(char *text, unsigned what, bool json)
{
	char *to = text, before = ' ';
	for (const char *at = text; *at;) {
		size_t n = 0, kept = 0, dots = 0, escape = escape_at(at, json);
		for (size_t i = 0; i < PHX_ARRAY_SIZE(cuts) && !n && !escape; i++)
			if (cuts[i].what & what && (n = cuts[i].at(at, before, json, &kept)))
				dots = n - kept < cuts[i].dots ? n - kept : cuts[i].dots;
		kept = n ? kept : escape ? escape : 1;
		n = n ? n : kept;
		before = escape ? ' ' : at[n - 1];
		memmove(to, at, kept);
		memset(to + kept, '.', dots);
		to += kept + dots;
		at += n;
	}
	*to = '\0';
	return (size_t)(to - text);
}
