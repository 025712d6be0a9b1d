/* Small helpers every room uses: cleanup attributes, sizes, bounded strings,
 * tables of names. Pure: memory and strings only. */
#ifndef PHX_BASE_UTIL_H
#define PHX_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define PHX_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/** Move a pointer out of a variable, leaving NULL: for _cleanup_ variables. */
#define PHX_TAKE(p) \
	({ \
		__typeof__(p) taken_ = (p); \
		(p) = NULL; \
		taken_; \
	})

static inline void phx_free_ptr(void *p)
{
	free(*(void **)p);
}
/** Frees the malloc'd variable at scope exit. */
#define PHX_AUTO_FREE __attribute__((cleanup(phx_free_ptr)))
/** Calls `fn(&var)` at scope exit. */
#define PHX_AUTO(fn) __attribute__((cleanup(fn)))

/** Copy `src` into the fixed array `dst`; -ENAMETOOLONG (dst untouched) if it
 * does not fit. NULL `src` copies "". */
int phx_str_copy(char *dst, size_t dst_size, const char *src);
/** phx_str_copy() into an array variable; a pointer is none: it does not compile. */
#define PHX_STR_SET(dst, src) phx_str_copy((dst), sizeof(dst) + PHX_MUST_BE_ARRAY(dst), (src))
/* 0, where it compiles */
#define PHX_MUST_BE_ARRAY(a) \
	(0 * sizeof(char[__builtin_types_compatible_p(typeof(a), typeof(&(a)[0])) ? -1 : 1]))

bool phx_str_eq(const char *a, const char *b);
bool phx_str_starts(const char *s, const char *prefix);
/** Does all of `s` match a pattern in which '*' is any text and '?' one character? */
bool phx_str_matches(const char *pattern, const char *s);

/** Is it a number that a user or group can have? The greatest is none: system calls take it for
 * "leave it as it is". */
static inline bool phx_id_valid(uint32_t id)
{
	return id != UINT32_MAX;
}
/** A name as nodes, roles, pools, images and packages carry it: a letter or
 * digit, then letters, digits, '-', '_' or '.', at most PHX_NAME_MAX - 1
 * characters, no "..". */
#define PHX_RELEASE_MAX 96 /* of a kernel, as uname -r says it */
#define PHX_NAME_MAX 64
bool phx_name_valid(const char *s);

/** Parse a whole string as an unsigned decimal within [min, max].
 * -EINVAL for anything else (sign, blank, rest), -ERANGE outside. */
int phx_u64_parse(const char *s, uint64_t min, uint64_t max, uint64_t *ret_value);

/** Parse "5 GiB", "512M", "4096" into bytes (K/KiB.. = 1024, KB.. = 1000).
 * -EINVAL on anything else, -ERANGE on overflow. */
int phx_size_parse(const char *s, uint64_t *ret_bytes);
/** "5.0 GiB" into `buf`; returns buf. */
const char *phx_size_format(uint64_t bytes, char *buf, size_t buf_size);

/** Parse "90", "90s", "15m", "2h", "1d" into seconds. */
int phx_duration_parse(const char *s, uint64_t *ret_seconds);

/** Normalise a MAC ("AA-BB-..", "aa:bb:..", "aabbcc..") to "aa:bb:cc:dd:ee:ff". */
#define PHX_MAC_MAX 18
int phx_mac_parse(const char *s, char ret_mac[PHX_MAC_MAX]);

/** Is the text just so many lower-case hexadecimal digits? */
bool phx_is_hex(const char *text, size_t digits);
/** Is it a SHA-256 in that form? "" is none. */
bool phx_is_sha256(const char *text);
/** `n` bytes as 2 n lower-case hexadecimal digits and a '\0'; `ret` has room for 2 n + 1. */
void phx_hex(const void *bytes, size_t n, char *ret);
/** `n` bytes out of 2 n such digits, whatever follows. False: they are none, and `ret` is as it
 * was. */
bool phx_unhex(const char *text, size_t n, void *ret);

/** A table of an enum's names, index = value. */
struct phx_enum {
	const char *what; /* "node state": used in error text */
	const char *const *names;
	int n_names;
};
/** Name of a value; "?" outside the table. */
const char *phx_enum_name(const struct phx_enum *e, int value);
/** Value of a name; -EINVAL with a text that lists the valid names. */
int phx_enum_parse(const struct phx_enum *e, const char *name, int *ret_value, struct phx_err *err);

/** Growing list of equal-sized items; zero-initialise. Items are moved by
 * growth: keep indexes, not pointers, over a push. */
struct phx_list {
	void *items;
	uint32_t n, cap;
};
/** Append `n` zeroed items of `item_size`; returns the first, NULL on ENOMEM. */
void *phx_list_push(struct phx_list *l, size_t item_size);
/** Remove item `i`, keeping order. */
void phx_list_remove(struct phx_list *l, size_t item_size, uint32_t i);
/** The key by which a list is sorted, ascending. */
typedef uint64_t phx_list_key(const void *item);
/** Index of the first item whose key is `key` or above; the list's length if there is none. */
uint32_t phx_list_place(const struct phx_list *l, size_t item_size, phx_list_key *key_of,
			uint64_t key);
/** Free the items (not what they point to). Safe twice. */
void phx_list_fini(struct phx_list *l);
/** Typed item access: PHX_LIST_AT(&l, struct x, i). */
#define PHX_LIST_AT(l, type, i) (&((type *)(l)->items)[i])
/** Iterate: PHX_LIST_EACH(struct x, it, &list) { ... } */
#define PHX_LIST_EACH(type, it, l) \
	for (type *it = (type *)(l)->items, *it##_end_ = it ? it + (l)->n : it; it < it##_end_; \
	     it++)

/** Growing text buffer; zero-initialise, phx_buf_fini() frees. After a failed
 * allocation `failed` is set and later appends do nothing. */
struct phx_buf {
	char *data; /* always NUL-terminated once anything was appended */
	size_t n, cap;
	bool failed;
};
/** Makes room for `n` more bytes and a NUL. False: out of memory. */
bool phx_buf_reserve(struct phx_buf *b, size_t n);
/** Appends `n` bytes that the caller fills in himself, before the next call; NULL: failed. */
static inline char *phx_buf_extend(struct phx_buf *b, size_t n)
{
	bool fits = !b->failed && b->n + n < b->cap;
	if (!fits && !phx_buf_reserve(b, n))
		return NULL;
	char *at = b->data + b->n;
	b->n += n;
	at[n] = '\0';
	return at;
}
static inline void phx_buf_add(struct phx_buf *b, const void *data, size_t n)
{
	char *to = phx_buf_extend(b, n);
	if (to && n)
		memcpy(to, data, n);
}
void phx_buf_addf(struct phx_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void phx_buf_fini(struct phx_buf *b);
/** Give the text away (malloc'd, "" when nothing was added); NULL if failed. */
char *phx_buf_take(struct phx_buf *b);

/** Does the path stay below the directory in which it is used: relative, printable, at most 255
 * bytes, no part empty, "." or ".."? -EINVAL with a text that names it. Does not look at links:
 * base/beneath.h. */
int phx_beneath_check(const char *path, struct phx_err *err);

#endif
