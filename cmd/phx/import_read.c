/* What readers of other tools' files have in common: see import.h. */
#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "phx/import.h"

static void put_line(struct phx_buf *b, unsigned line, const char *fmt, va_list ap)
{
	char text[512];
	vsnprintf(text, sizeof(text), fmt, ap);
	phx_buf_addf(b, "%u: ", line);
	cli_put_line(b, text);
	phx_buf_addf(b, "\n");
}

void import_left(struct import *im, unsigned line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	put_line(&im->left, line, fmt, ap);
	va_end(ap);
	im->n_left++;
}

void import_wrong(struct import *im, unsigned line, const char *fmt, ...)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	va_list ap;
	va_start(ap, fmt);
	put_line(&b, line, fmt, ap);
	va_end(ap);
	fprintf(stderr, "phx: %s:%s", im->path, b.data ? b.data : "\n");
	im->n_wrong++;
}

json_t *import_group(json_t *list, const char *key, const char *name)
{
	size_t i;
	json_t *group;
	json_array_foreach(list, i, group) {
		if (phx_str_eq(phx_json_str(group, key, ""), name))
			return group;
	}
	json_array_append_new(list, group = json_pack("{s:s}", key, name));
	return group;
}

json_t *import_list(json_t *group, const char *key)
{
	json_t *list = json_object_get(group, key);
	if (!list)
		json_object_set_new(group, key, list = json_array());
	return list;
}

void import_words(json_t *group, const char *key, const char *text, const char *between)
{
	for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
		size_t n = strcspn(at, between);
		json_array_append_new(import_list(group, key), json_stringn(at, n));
		at += n;
	}
}

json_t *import_network_of(const struct import *im, const char *address)
{
	size_t i;
	json_t *network;
	uint32_t number, first;
	struct phx_ipv4_net net;
	if (!phx_ipv4_parse(address, &number))
		return NULL;
	json_array_foreach(im->networks, i, network) {
		if (phx_ipv4_net_parse(phx_json_str(network, "subnet", ""), &net, &first) &&
		    phx_ipv4_net_has(&net, number))
			return network;
	}
	return NULL;
}

int import_subnet(const char *address, const char *mask, char ret[32])
{
	uint32_t number, bits;
	uint64_t n = 0;
	char first[PHX_IPV4_MAX];
	if (*mask == '/')
		bits = phx_u64_parse(mask + 1, 1, 32, &n) == 0 ? UINT32_MAX << (32 - n) : 0;
	else if (!phx_ipv4_parse(mask, &bits))
		return -EINVAL;
	/* ones, then zeros */
	if (!bits || (~bits & (~bits + 1)) || !phx_ipv4_parse(address, &number))
		return -EINVAL;
	phx_ipv4_format(number & bits, first);
	snprintf(ret, 32, "%s/%d", first, __builtin_popcount(bits));
	return 0;
}
