/* What the files of agreements share: both formats become a list of (key, text,
 * line), which the rows of the agreement turn into the struct. Used by agreement*.c only. */
#ifndef PHX_CONFIG_AGREEMENT_INTERNAL_H
#define PHX_CONFIG_AGREEMENT_INTERNAL_H

#include "config/agreement.h"

/** A file being read. */
struct agreement_reading {
	struct phx_agreement a;
	struct phx_list findings; /* struct phx_agreement_finding */
	struct phx_list given;    /* struct phx_agreement_given: keys, each once, and extensions */
	uint32_t line;            /* of the whole, for what is not there */
	int error;                /* -ENOMEM */
};

/** The line in which `key` was given; 0: nowhere. */
uint32_t phx_agreement_line(const struct agreement_reading *rd, const char *key);
/** Notes what is wrong in `line` with `field`; beyond PHX_AGREEMENT_FINDINGS_MAX nothing. */
void phx_agreement_find(struct agreement_reading *rd, uint32_t line, const char *field,
			const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/** One field as text; unknown keys, keys given twice and values that do not fit are findings. */
void phx_agreement_put(struct agreement_reading *rd, const char *key, const char *value,
		       uint32_t line);
/** One extension field. */
void phx_agreement_extend(struct agreement_reading *rd, const char *key, const char *value,
			  uint32_t line);

/** agreement_xml.c: puts and extends what is in the text; what cannot be parsed is a finding. */
void phx_agreement_read_xml(struct agreement_reading *rd, const char *text, size_t n);

#endif
