/* The options of phoenix.conf, one by one: table, text and settings into
 * members, members back into text. Called by config.c and by whoever prints
 * the table; reads no file. */
#include "config/option.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "node/role.h"

static const char *const dhcp_modes[] = {"dhcp", "proxy", "none"};
const struct phx_enum phx_dhcp_mode_names = {"DHCP mode", dhcp_modes, PHX_ARRAY_SIZE(dhcp_modes)};

static const char *const tftp_modes[] = {"in.tftpd", "dnsmasq", "none"};
const struct phx_enum phx_tftp_mode_names = {"TFTP server", tftp_modes, PHX_ARRAY_SIZE(tftp_modes)};

static const struct phx_option options[] = {
#define OPTION(key, type, fallback, min, max, unit, prose)                                                             \
	{#key, PHX_OPTION_##type, fallback, min, max, unit, prose, offsetof(struct phx_config, key)},
#include "config/option.def"
#undef OPTION
};

const struct phx_option *phx_option_info(enum phx_option_id id)
{
	return &options[id];
}

static int check_length(const struct phx_option *o, const char *text, struct phx_err *err)
{
	size_t n = strlen(text);
	if (n < o->min || n > o->max)
		return phx_err_set(err, -EINVAL, "%s has %zu characters; it must have %u to %u", o->key, n, o->min,
				   o->max);
	return 0;
}

static int text_path(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	if (text[0] != '/' && !phx_str_starts(text, "{config_dir}/") && !phx_str_starts(text, "{state_dir}/") &&
	    !phx_str_starts(text, "{run_dir}/"))
		return phx_err_set(err, -EINVAL,
				   "%s = \"%s\" must be an absolute path (it may begin with {config_dir}/, "
				   "{state_dir}/ or {run_dir}/)",
				   o->key, text);
	const char *bad = strpbrk(text, " \t\"\\,#");
	if (bad)
		return phx_err_set(err, -EINVAL, "%s = \"%s\" must not hold '%c'", o->key, text, *bad);
	return phx_str_copy(member, PHX_CONFIG_TEXT_MAX, text);
}

static int text_text(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	(void)o;
	(void)err;
	return phx_str_copy(member, PHX_CONFIG_TEXT_MAX, text);
}

static int text_name(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	if (!phx_name_valid(text))
		return phx_err_set(err, -EINVAL, "%s = \"%s\" is no name: letters, digits, '-', '_', '.'", o->key,
				   text);
	return phx_str_copy(member, PHX_NAME_MAX, text);
}

static int text_address(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	struct in_addr a;
	if (*text && inet_pton(AF_INET, text, &a) != 1)
		return phx_err_set(err, -EINVAL, "%s = \"%s\" must be an IPv4 address, like \"192.168.1.1\"", o->key,
				   text);
	return phx_str_copy(member, 46, text);
}

static int text_range(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	struct phx_ip_range range = {0};
	struct in_addr a;
	const char *comma = strchr(text, ',');
	if (*text && comma && (size_t)(comma - text) < sizeof(range.first)) {
		memcpy(range.first, text, (size_t)(comma - text));
		comma += 1 + strspn(comma + 1, " ");
		PHX_STR_SET(range.last, comma);
	}
	if (*text && (inet_pton(AF_INET, range.first, &a) != 1 || inet_pton(AF_INET, range.last, &a) != 1))
		return phx_err_set(err, -EINVAL,
				   "%s = \"%s\" must be two IPv4 addresses, like \"192.168.1.100,192.168.1.199\"",
				   o->key, text);
	*(struct phx_ip_range *)member = range;
	return 0;
}

static int text_u32(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	uint64_t v;
	if (phx_u64_parse(text, o->min, o->max, &v) < 0)
		return phx_err_set(err, -EINVAL, "%s must be a whole number from %u to %u", o->key, o->min, o->max);
	*(uint32_t *)member = (uint32_t)v;
	return 0;
}

static int text_bool(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	(void)o;
	(void)err;
	*(bool *)member = !strcmp(text, "true");
	return 0;
}

/* Only as a default, and those are empty: see option.def. */
static int text_words(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	(void)text;
	(void)member;
	return *text ? phx_err_set(err, -EINVAL, "%s must be a list of texts", o->key) : 0;
}

static int text_dhcp_mode(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	int r = phx_enum_parse(&phx_dhcp_mode_names, text, member, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", o->key) : 0;
}

static int text_tftp_mode(const struct phx_option *o, const char *text, void *member, struct phx_err *err)
{
	int r = phx_enum_parse(&phx_tftp_mode_names, text, member, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", o->key) : 0;
}

typedef int (*text_fn)(const struct phx_option *o, const char *text, void *member, struct phx_err *err);

static const struct option_type {
	text_fn from_text;
	enum phx_conf_type conf; /* how the setting looks in the file */
	bool length;             /* min and max are of its length */
} types[] = {
	[PHX_OPTION_PATH] = {text_path, PHX_CONF_STR, true},
	[PHX_OPTION_TEXT] = {text_text, PHX_CONF_STR, true},
	[PHX_OPTION_NAME] = {text_name, PHX_CONF_STR, true},
	[PHX_OPTION_ADDRESS] = {text_address, PHX_CONF_STR, true},
	[PHX_OPTION_RANGE] = {text_range, PHX_CONF_STR, true},
	[PHX_OPTION_U32] = {text_u32, PHX_CONF_U32, false},
	[PHX_OPTION_BOOL] = {text_bool, PHX_CONF_BOOL, false},
	[PHX_OPTION_WORDS] = {text_words, PHX_CONF_WORDS, false},
	[PHX_OPTION_DHCP_MODE] = {text_dhcp_mode, PHX_CONF_STR, false},
	[PHX_OPTION_TFTP_MODE] = {text_tftp_mode, PHX_CONF_STR, false},
};

int phx_option_from_text(const struct phx_option *o, const char *text, struct phx_config *cfg, struct phx_err *err)
{
	int r = types[o->type].length ? check_length(o, text, err) : 0;
	return r < 0 ? r : types[o->type].from_text(o, text, (char *)cfg + o->offset, err);
}

int phx_option_from_setting(const struct phx_option *o, const struct phx_conf *c, const config_setting_t *s,
			    struct phx_config *cfg, struct phx_err *err)
{
	void *member = (char *)cfg + o->offset;
	struct phx_conf_key key = {o->key, types[o->type].conf, 0, sizeof(struct phx_word), false, o->min, o->max,
				   NULL};
	if (o->type == PHX_OPTION_WORDS) {
		phx_list_fini(member);
		int r = phx_conf_value(c, s, &key, member, err);
		if (r == 0 && ((struct phx_list *)member)->n > o->max)
			r = phx_conf_fail(c, s, -EINVAL, err, "%s has more than %u items", o->key, o->max);
		return r;
	}
	if (key.type != PHX_CONF_STR)
		return phx_conf_value(c, s, &key, member, err);
	const char *text;
	int r = phx_conf_text(c, s, &text, err);
	if (r < 0)
		return r;
	r = phx_option_from_text(o, text, cfg, err);
	return r < 0 ? phx_conf_place(c, s, r, err) : 0;
}

static void format_words(const struct phx_list *words, char *buf, size_t size)
{
	size_t n = 0;
	buf[0] = '\0';
	PHX_LIST_EACH(struct phx_word, w, words)
	{
		int k = snprintf(buf + n, size - n, "%s%s", n ? " " : "", w->text);
		if (k < 0 || (size_t)k >= size - n)
			return;
		n += (size_t)k;
	}
}

void phx_option_format(const struct phx_option *o, const struct phx_config *cfg, char *buf, size_t size)
{
	const void *m = (const char *)cfg + o->offset;
	const struct phx_ip_range *range = m;
	switch (o->type) {
	case PHX_OPTION_PATH:
	case PHX_OPTION_TEXT:
	case PHX_OPTION_NAME:
	case PHX_OPTION_ADDRESS:
		snprintf(buf, size, "%s", (const char *)m);
		break;
	case PHX_OPTION_RANGE:
		snprintf(buf, size, "%s%s%s", range->first, range->first[0] ? "," : "", range->last);
		break;
	case PHX_OPTION_U32:
		snprintf(buf, size, "%u", *(const uint32_t *)m);
		break;
	case PHX_OPTION_BOOL:
		snprintf(buf, size, "%s", *(const bool *)m ? "true" : "false");
		break;
	case PHX_OPTION_WORDS:
		format_words(m, buf, size);
		break;
	case PHX_OPTION_DHCP_MODE:
		snprintf(buf, size, "%s", phx_enum_name(&phx_dhcp_mode_names, *(const int *)m));
		break;
	case PHX_OPTION_TFTP_MODE:
		snprintf(buf, size, "%s", phx_enum_name(&phx_tftp_mode_names, *(const int *)m));
		break;
	}
}
