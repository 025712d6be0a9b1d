/* A JSON scanner that reads text in place, value by value, without building a tree. Used where much
 * is read (base/json.h: records; phxd: beats). Accepts what jansson accepts, except nesting deeper
 * than PHX_SCAN_DEPTH_MAX. Pure. */
#ifndef PHX_BASE_JSON_SCAN_H
#define PHX_BASE_JSON_SCAN_H

#include "base/util.h"

#define PHX_SCAN_DEPTH_MAX 64
/** Room for the name of a member; longer names are truncated. */
#define PHX_SCAN_NAME_MAX 128

/** A place in a NUL-terminated text. `want` says what was expected at `at`; NULL: no error so far.
 * An error sticks: nothing is read after it. */
struct phx_scan {
	const char *text, *at;
	const char *want;
};

/** A scan at the beginning of `text`, which is borrowed. */
static inline struct phx_scan phx_scan_of(const char *text)
{
	return (struct phx_scan){text, text, NULL};
}
/** The first character of the next value ('{', '[', '"', 't', a digit...), NUL at the end. */
char phx_scan_peek(struct phx_scan *s);
/** Reads the name of the next member of an object; its value comes next. `*began` is false before
 * the first member. False: no more members, or an error (s->want). */
bool phx_scan_member(struct phx_scan *s, bool *began, char ret_name[PHX_SCAN_NAME_MAX]);
/** The same for a list: the next item comes next. */
bool phx_scan_item(struct phx_scan *s, bool *began);
/** Reads a string: writes as much as fits into `dst` (may be NULL if dst_size is 0), with a NUL,
 * and returns the length of the whole string; -EINVAL: it is not a string. */
int64_t phx_scan_string(struct phx_scan *s, char *dst, size_t dst_size);
/** Reads a number. -ERANGE: a valid number, but not an integer; -EINVAL: s->want, also for one that
 * does not fit. */
int phx_scan_integer(struct phx_scan *s, int64_t *ret);
/** Reads the word `word` (true, false, null), or sets s->want. */
bool phx_scan_word(struct phx_scan *s, const char *word);
/** Skips the next value, whatever it is, and checks its syntax as strictly; -EINVAL: s->want. */
int phx_scan_skip(struct phx_scan *s);
/** Is nothing left of the text? Otherwise sets s->want. */
bool phx_scan_end(struct phx_scan *s);

#endif
