/* Reads members of a request's body into fixed structs. Each function that has `q` answers 400 and
 * returns false if the member is not valid. */
#ifndef PHXD_PARSE_H
#define PHXD_PARSE_H

#include "phxd/daemon.h"

/** A string without control characters into `dst`; left as it is if the member is absent or null.
 */
bool parse_text(struct phx_http_request *q, const json_t *j, const char *key, char *dst,
		size_t dst_size);
#define TAKE(q, j, key, dst) parse_text((q), (j), (key), (dst), sizeof(dst))
/** Copies an agent's text that people will read, cut to fit, without line breaks or terminal
 * escapes. */
void parse_words(char *dst, size_t dst_size, const char *src);
/** The same of a text in its place: control characters become spaces. */
void parse_clean(char *text);
/** true or false; false if absent. */
bool parse_bool(struct phx_http_request *q, const json_t *j, const char *key, bool *ret);
/** A whole number from min to max; left as it is if absent. */
bool parse_number(struct phx_http_request *q, const json_t *j, const char *key, int64_t min,
		  int64_t max, int64_t *ret);
/** "kill_jobs": true, or a list of the jobs that may end; absent or false: none. Results: enum
 * phx_jobs_say, and struct phx_job_ref sorted by id. */
bool parse_kill_jobs(struct phx_http_request *q, const json_t *j, int *ret_say,
		     struct phx_list *ret_may_end);
/** No member but those of `known`: a misspelt "dry_run" must not be acted upon. */
bool parse_only(struct phx_http_request *q, const json_t *j, const char *const *known,
		size_t n_known);
/** "macs": list of MAC addresses, normalised, appended as struct phx_mac. */
bool parse_macs(struct phx_http_request *q, const json_t *j, struct phx_list *macs);
/** Member `key` as a value of `names`; left as it is if absent. */
bool parse_enum(struct phx_http_request *q, const json_t *j, const char *key,
		const struct phx_enum *names, int *ret);
/** Member `key` as a record whose texts, as far as they are of fixed size, hold no control
 * characters; left as it is if absent. After false it is zero. */
bool parse_record(struct phx_http_request *q, const json_t *j, const char *key,
		  const struct phx_record *rec, void *ret);
/** The body as a message (phx_json_to_message()) whose texts, as far as they are of fixed size,
 * hold no control characters. The caller frees *ret by phx_record_fini(); false: it is zero. */
bool parse_message(struct phx_http_request *q, const json_t *j, const struct phx_record *rec,
		   void *ret);
/** "N" or "N%" of `n`, one at least: how many that are. -EINVAL: another text, or more than all. */
int parse_share(const char *text, uint32_t n, uint32_t *ret);
/** A number of the query string, from 0 to max; `fallback` if absent. */
bool parse_query_number(struct phx_http_request *q, const char *name, uint64_t max,
			uint64_t fallback, uint64_t *ret);
/** Digest of "token"; tokens themselves are never kept. "" gives "". */
bool parse_token(struct phx_http_request *q, const json_t *j, char ret_sha256[PHX_SHA256_HEX]);
/** The same of a token that was read already. */
bool parse_token_digest(struct phx_http_request *q, const char *token,
			char ret_sha256[PHX_SHA256_HEX]);
/** "bmc": what BMC a node has; left as it is if absent. One that cannot work now is refused, and
 * not only when the node's power is to be switched. */
bool parse_bmc(struct daemon *d, struct phx_http_request *q, const json_t *j, struct phx_bmc *ret);
/** "bmc" of what changes it. "keep": true: its members are changed, and no others; whether the
 * whole is right then is looked at for each node (tried.c). */
bool parse_bmc_change(struct daemon *d, struct phx_http_request *q, const json_t *j,
		      struct phx_event_node_bmc *p);

#endif
