/* Numbers that stand for contents (FNV-1a of 64 bits), where nobody gains by two contents that have
 * the same number. Agents and journals keep some of them, so the functions never change. Pure. */
#ifndef PHX_BASE_MIX_H
#define PHX_BASE_MIX_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** The number of no contents. */
#define PHX_MIX_NONE 0xcbf29ce484222325ULL

/** Goes on from `h` with a whole number as one piece. */
static inline uint64_t phx_mix_number(uint64_t h, uint64_t n)
{
	return (h ^ n) * 0x100000001b3ULL;
}

/** Goes on from `h` with `n` bytes. */
static inline uint64_t phx_mix(uint64_t h, const void *data, size_t n)
{
	const uint8_t *p = (const uint8_t *)data;
	for (size_t i = 0; i < n; i++)
		h = phx_mix_number(h, p[i]);
	return h;
}

/** Goes on from `h` with a text and its end, so that "a", "bc" is not "ab", "c". */
static inline uint64_t phx_mix_text(uint64_t h, const char *text)
{
	return phx_mix(h, text, strlen(text) + 1);
}

/** An id of the contents: never 0, and small enough (53 bits) to be exact in every JSON reader. */
static inline uint64_t phx_mix_id(uint64_t h)
{
	h = (h ^ h >> 53) & ((1ULL << 53) - 1);
	return h ? h : 1;
}

#endif
