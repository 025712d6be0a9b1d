/* Members of a request's body into fixed structs. Each answers 400 by itself
 * and returns false when the member is not what it should be. */
#ifndef PHXD_PARSE_H
#define PHXD_PARSE_H

#include "phxd/daemon.h"

/** String member into dst, without control characters; an absent or null one leaves it. */
bool parse_text(struct phx_http_request *q, const json_t *j, const char *key, char *dst,
		size_t dst_size);
#define TAKE(q, j, key, dst) parse_text((q), (j), (key), (dst), sizeof(dst))
/** Words of an agent for people, cut to what fits: no lines and no escapes of terminals are left in
 * them. */
void parse_words(char *dst, size_t dst_size, const char *src);
/** true or false; an absent one is false. */
bool parse_bool(struct phx_http_request *q, const json_t *j, const char *key, bool *ret);
/** A whole number from min to max; an absent one leaves it. */
bool parse_number(struct phx_http_request *q, const json_t *j, const char *key, int64_t min,
		  int64_t max, int64_t *ret);
/** "kill_jobs": true, or a list of the jobs that may end; absent or false: none. As enum
 * phx_jobs_say and struct phx_job_ref, by id. */
bool parse_kill_jobs(struct phx_http_request *q, const json_t *j, int *ret_say,
		     struct phx_list *ret_may_end);
/** No member but those of `known`: a misspelt "dry_run" must not be acted upon. */
bool parse_only(struct phx_http_request *q, const json_t *j, const char *const *known,
		size_t n_known);
/** "macs": list of MAC addresses, normalised, appended as struct phx_mac. */
bool parse_macs(struct phx_http_request *q, const json_t *j, struct phx_list *macs);
/** Member `key` as a value of `names`; absent leaves it. */
bool parse_enum(struct phx_http_request *q, const json_t *j, const char *key,
		const struct phx_enum *names, int *ret);
/** Member `key` as a record; absent leaves it zeroed. */
bool parse_record(struct phx_http_request *q, const json_t *j, const char *key,
		  const struct phx_record *rec, void *ret);
/** A number of the query string, from 0 to max; an absent one is `fallback`. */
bool parse_query_number(struct phx_http_request *q, const char *name, uint64_t max,
			uint64_t fallback, uint64_t *ret);
/** Digest of a token; tokens themselves are never kept. "" gives "". */
bool parse_token(struct phx_http_request *q, const json_t *j, char ret_sha256[PHX_SHA256_HEX]);

#endif
