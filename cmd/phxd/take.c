/* Members of a request's body into fixed structs: see take.h. */
#include "phxd/take.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool refuse(struct phx_http_request *q, const char *key, const char *why)
{
	char text[PHX_ERR_TEXT_MAX + 64];
	snprintf(text, sizeof(text), "%s: %s", key, why);
	phx_http_reply_error(q, -EINVAL, text);
	return false;
}

bool take_text(struct phx_http_request *q, const json_t *j, const char *key, char *dst, size_t dst_size)
{
	char why[80];
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v))
		return true;
	if (json_is_string(v) && phx_str_copy(dst, dst_size, json_string_value(v)) == 0)
		return true;
	snprintf(why, sizeof(why), "must be a text of at most %zu characters", dst_size - 1);
	return refuse(q, key, why);
}

bool take_macs(struct phx_http_request *q, const json_t *j, struct phx_list *macs)
{
	size_t i;
	json_t *v;
	json_array_foreach(json_object_get(j, "macs"), i, v)
	{
		struct phx_mac m, *to;
		char why[120];
		if (phx_mac_parse(json_string_value(v), m.mac) == 0 && (to = phx_list_push(macs, sizeof(*to)))) {
			*to = m;
			continue;
		}
		snprintf(why, sizeof(why), "'%.40s' is no MAC address (aa:bb:cc:dd:ee:ff)",
			 json_is_string(v) ? json_string_value(v) : "?");
		return refuse(q, "macs", why);
	}
	return true;
}

bool take_enum(struct phx_http_request *q, const json_t *j, const char *key, const struct phx_enum *names, int *ret)
{
	struct phx_err err = { 0 };
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v) || phx_enum_parse(names, json_string_value(v), ret, &err) == 0)
		return true;
	return refuse(q, key, err.text);
}

bool take_record(struct phx_http_request *q, const json_t *j, const char *key, const struct phx_record *rec,
		 void *ret)
{
	struct phx_err err = { 0 };
	const json_t *v = json_object_get(j, key);
	if (!v || json_is_null(v) || phx_json_to_record(rec, v, ret, &err) == 0)
		return true;
	return refuse(q, key, err.text);
}

bool take_token(struct phx_http_request *q, const json_t *j, char ret_sha256[PHX_SHA256_HEX])
{
	char token[256] = "";
	struct phx_sha256 *sha;
	if (!TAKE(q, j, "token", token))
		return false;
	ret_sha256[0] = '\0';
	if (!token[0])
		return true;
	if (phx_sha256_new(&sha) < 0)
		return refuse(q, "token", "cannot be digested");
	phx_sha256_add(sha, token, strlen(token));
	phx_sha256_hex(sha, ret_sha256);
	phx_sha256_free(sha);
	return true;
}
