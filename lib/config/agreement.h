/* RE agreements as files: libconfig, and XML as in Fig. 3 of 000. Used by phx,
 * which checks a file, sends it to phxd, and prints an agreement back. */
#ifndef PHX_CONFIG_AGREEMENT_H
#define PHX_CONFIG_AGREEMENT_H

#include "types/agreement.h"

#define PHX_AGREEMENT_FILE_MAX (64u << 10)
#define PHX_AGREEMENT_FINDINGS_MAX 100

/** What is wrong with an agreement, and where. */
#define PHX_AGREEMENT_FINDING_FIELDS(F, S) \
	F(S, line, U32) \
	F(S, field, STR(PHX_NAME_MAX)) /* "" = the file as a whole */ \
	F(S, text, STR(PHX_ERR_TEXT_MAX))
PHX_RECORD_STRUCT(phx_agreement_finding, PHX_AGREEMENT_FINDING_FIELDS);

/** Read NAME.conf (libconfig) or NAME.xml; which of them it is, its first character says ('<'). The
 * RE is called as the file where the agreement has no name; without a role its nodes run what its
 * type of workload wants ("batch-compute", "web-server"). All findings, those of
 * phx_agreement_check() too, go to ret_findings (struct phx_agreement_finding, owned by the caller:
 * phx_list_fini(); NULL: not wanted). With any: -EINVAL, and err is the first as "FILE:LINE: FIELD:
 * TEXT". -ENOENT, -EFBIG, -ENOMEM. ret (owned: phx_record_fini()) is untouched on failure. No
 * external entity and no DTD of an XML file is ever read. */
int phx_agreement_load(const char *path, struct phx_agreement *ret, struct phx_list *ret_findings,
		       struct phx_err *err);
/** The same of text at hand; `what` stands for the file, `name` is the RE's where the text has none
 * ("" = it must). */
int phx_agreement_parse(const char *text, size_t n, const char *what, const char *name,
			struct phx_agreement *ret, struct phx_list *ret_findings,
			struct phx_err *err);

/** The line of that file which gives `field`; 0: none does, or it cannot be read. */
uint32_t phx_agreement_line_in(const char *path, const char *field);

/** A key that a text gives, and what it says there, as words; whether or not it may. */
struct phx_agreement_given {
	char key[PHX_NAME_MAX], value[256];
	bool extension;
	uint32_t line;
};
/** What a text gives, in its order (struct phx_agreement_given, owned by the caller:
 * phx_list_fini()); of one that cannot be parsed nothing. -ENOMEM. */
int phx_agreement_given_in(const char *text, size_t n, struct phx_list *ret);
/** Append the libconfig text that gives just that, in the order of phx_agreement_row(), keys that
 * are none behind, and extensions last; empty values are left out. What is wrong stays so, each in
 * a line of its own. -EINVAL: a key or value that no line can hold. -ENOMEM. */
int phx_agreement_write_given(const struct phx_list *given, struct phx_buf *buf,
			      struct phx_err *err);

/** Append the agreement as a file; what has its default is left out where the papers do not name
 * it. Reading it back gives the same agreement. -ENOMEM. */
int phx_agreement_write_conf(const struct phx_agreement *a, struct phx_buf *buf);
int phx_agreement_write_xml(const struct phx_agreement *a, struct phx_buf *buf);

/** Row `i` of what a file may have, in the order of its keys: those of the agreement, and those
 * that are not members of it. NULL behind the last. */
const struct phx_field *phx_agreement_row(size_t i);
/** Is it one of those that an agreement always tells: what the papers print, and what nothing else
 * says? */
bool phx_agreement_row_is_told(const struct phx_field *f);

#endif
