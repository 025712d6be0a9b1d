/* Members of a request's body into fixed structs: see parse.h. */
#include "phxd/parse.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

static bool refuse(struct phx_http_request *q, const char *key, const char *why)
{
	char text[PHX_ERR_TEXT_MAX + 64];
	snprintf(text, sizeof(text), "%.100s: %s", key, why);
	phx_utf8_repair(text);
	phx_http_reply_error(q, -EINVAL, text);
	return false;
}

static bool is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

/* Texts are shown on terminals and written into lines. */
static bool has_control(const char *text)
{
	while (*text && !is_control(*text))
		text++;
	return *text;
}

bool parse_text(struct phx_http_request *q, const json_t *j, const char *key, char *dst,
		size_t dst_size)
{
	char why[80];
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v))
		return true;
	const char *text = json_string_value(v);
	if (text && has_control(text))
		return refuse(q, key, "must not hold control characters");
	if (text && phx_str_copy(dst, dst_size, text) == 0)
		return true;
	snprintf(why, sizeof(why), "must be a text of at most %zu characters", dst_size - 1);
	return refuse(q, key, why);
}

void parse_clean(char *text)
{
	for (char *p = text; *p; p++)
		if (is_control(*p))
			*p = ' ';
}

void parse_words(char *dst, size_t dst_size, const char *src)
{
	snprintf(dst, dst_size, "%s", src);
	parse_clean(dst);
}

bool parse_bool(struct phx_http_request *q, const json_t *j, const char *key, bool *ret)
{
	const json_t *v = json_object_get(j, key);
	if (v && !json_is_null(v) && !json_is_boolean(v))
		return refuse(q, key, "must be true or false");
	*ret = json_is_true(v);
	return true;
}

bool parse_number(struct phx_http_request *q, const json_t *j, const char *key, int64_t min,
		  int64_t max, int64_t *ret)
{
	char why[100];
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v))
		return true;
	if (json_is_integer(v) && json_integer_value(v) >= min && json_integer_value(v) <= max) {
		*ret = json_integer_value(v);
		return true;
	}
	snprintf(why, sizeof(why), "must be a whole number from %lld to %lld", (long long)min,
		 (long long)max);
	return refuse(q, key, why);
}

static int compare_refs(const void *a, const void *b)
{
	uint64_t x = ((const struct phx_job_ref *)a)->id, y = ((const struct phx_job_ref *)b)->id;
	return x < y ? -1 : x > y;
}

bool parse_kill_jobs(struct phx_http_request *q, const json_t *j, int *ret_say,
		     struct phx_list *ret_may_end)
{
	const json_t *v = json_object_get(j, "kill_jobs");
	size_t i;
	json_t *id;
	bool ok = !v || json_is_null(v) || json_is_boolean(v) || json_is_array(v);
	json_array_foreach((json_t *)v, i, id) {
		struct phx_job_ref *ref =
			ok && json_is_integer(id) ? phx_list_push(ret_may_end, sizeof(*ref)) : NULL;
		ok = ref && json_integer_value(id) > 0;
		if (ok)
			ref->id = (uint64_t)json_integer_value(id);
	}
	if (!ok)
		return refuse(q, "kill_jobs", "must be true, or a list of numbers of jobs");
	if (ret_may_end->n)
		qsort(ret_may_end->items, ret_may_end->n, sizeof(struct phx_job_ref), compare_refs);
	*ret_say = json_is_true(v) ? PHX_JOBS_ANY
		: json_is_array(v) ? PHX_JOBS_NAMED
				   : PHX_JOBS_SPARE;
	return true;
}

bool parse_only(struct phx_http_request *q, const json_t *j, const char *const *known,
		size_t n_known)
{
	const char *key;
	json_t *v;
	json_object_foreach((json_t *)j, key, v) {
		bool found = false;
		for (size_t i = 0; i < n_known; i++)
			found = found || !strcmp(key, known[i]);
		if (!found)
			return refuse(q, key, "is not known here");
	}
	return true;
}

bool parse_macs(struct phx_http_request *q, const json_t *j, struct phx_list *macs)
{
	size_t i;
	json_t *v;
	const json_t *list = json_object_get(j, "macs");
	if (list && !json_is_array(list))
		return refuse(q, "macs", "must be a list of MAC addresses");
	json_array_foreach((json_t *)list, i, v) {
		struct phx_mac m = {0}, *to;
		char why[120];
		if (phx_mac_parse(json_string_value(v), m.mac) == 0 &&
		    (to = phx_list_push(macs, sizeof(*to)))) {
			*to = m;
			continue;
		}
		snprintf(why, sizeof(why), "'%.40s' is no MAC address (aa:bb:cc:dd:ee:ff)",
			 json_is_string(v) ? json_string_value(v) : "?");
		return refuse(q, "macs", why);
	}
	return true;
}

bool parse_enum(struct phx_http_request *q, const json_t *j, const char *key,
		const struct phx_enum *names, int *ret)
{
	struct phx_err err = {0};
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v) || phx_enum_parse(names, json_string_value(v), ret, &err) == 0)
		return true;
	return refuse(q, key, err.text);
}

static int check_texts(const struct phx_record *rec, const void *obj, struct phx_err *err)
{
	int r = 0;
	for (size_t i = 0; r == 0 && i < rec->n_fields; i++) {
		const struct phx_field *f = &rec->fields[i];
		if (f->type == PHX_F_STR && has_control((const char *)obj + f->offset))
			r = phx_err_set(err, -EINVAL, "%s: must not hold control characters",
					f->name);
	}
	return r;
}

bool parse_record(struct phx_http_request *q, const json_t *j, const char *key,
		  const struct phx_record *rec, void *ret)
{
	struct phx_err err = {0};
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v))
		return true;
	int r = phx_json_to_record(rec, v, ret, &err);
	r = r ? r : check_texts(rec, ret, &err);
	if (r == 0)
		return true;
	phx_record_fini(rec, ret);
	return refuse(q, key, err.text);
}

bool parse_message(struct phx_http_request *q, const json_t *j, const struct phx_record *rec,
		   void *ret)
{
	struct phx_err err = {0};
	int r = phx_json_to_message(rec, j, ret, &err);
	r = r ? r : check_texts(rec, ret, &err);
	if (r == 0)
		return true;
	phx_record_fini(rec, ret);
	phx_utf8_repair(err.text);
	phx_http_reply_error(q, r, err.text[0] ? err.text : strerror(-r));
	return false;
}

bool parse_token_digest(struct phx_http_request *q, const char *token,
			char ret_sha256[PHX_SHA256_HEX])
{
	ret_sha256[0] = '\0';
	return !token[0] || phx_sha256_of(token, strlen(token), ret_sha256) == 0 ||
		refuse(q, "token", "cannot be digested");
}

bool parse_token(struct phx_http_request *q, const json_t *j, char ret_sha256[PHX_SHA256_HEX])
{
	char token[256] = "";
	return TAKE(q, j, "token", token) && parse_token_digest(q, token, ret_sha256);
}

bool parse_query_number(struct phx_http_request *q, const char *name, uint64_t max,
			uint64_t fallback, uint64_t *ret)
{
	const char *text = phx_http_query(q, name);
	*ret = fallback;
	if (!text || phx_u64_parse(text, 0, max, ret) == 0)
		return true;
	char why[160];
	snprintf(why, sizeof(why), "%s: must be a number from 0 to %llu", name,
		 (unsigned long long)max);
	phx_http_reply_error(q, -EINVAL, why);
	return false;
}

int parse_share(const char *text, uint32_t n, uint32_t *ret)
{
	size_t digits = text ? strspn(text, "0123456789") : 0;
	char number[8] = "";
	uint64_t value = 0;
	if (digits && digits < sizeof(number))
		memcpy(number, text, digits);
	bool percent = digits && phx_str_eq(text + digits, "%");
	if (phx_u64_parse(number, 1, percent ? 100 : n, &value) < 0 || (!percent && text[digits]))
		return -EINVAL;
	value = percent ? n * value / 100 : value;
	*ret = value ? (uint32_t)value : 1;
	return 0;
}
