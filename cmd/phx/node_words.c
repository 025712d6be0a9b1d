/* Words that say what a machine is known by, and what BMC it has: see node_add.h. Called by the
 * commands that announce and change nodes. */
#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "phx/node_add.h"
#include "types/bmc.h"

enum { TOKEN_MAX = 4096 };

static const struct phx_field *find_bmc_field(const char *name, size_t n)
{
	for (size_t i = 0; i < phx_bmc_record.n_fields; i++)
		if (strlen(phx_bmc_record.fields[i].name) == n &&
		    !memcmp(phx_bmc_record.fields[i].name, name, n))
			return &phx_bmc_record.fields[i];
	return NULL;
}

int cli_bmc_key(json_t *bmc, const char *key, size_t n_key, const char *value)
{
	const struct phx_field *f = find_bmc_field(key, n_key);
	if (!f)
		return -ENOENT;
	if (f->type != PHX_F_BOOL)
		return json_object_set_new(bmc, f->name, json_string(value)) < 0 ? -ENOMEM : 0;
	if (!phx_str_eq(value, "true") && !phx_str_eq(value, "false"))
		return -EINVAL;
	return json_object_set_new(bmc, f->name, json_boolean(phx_str_eq(value, "true")));
}

static int set_bmc(json_t *bmc, const char *word, size_t n)
{
	const char *eq = memchr(word, '=', n);
	size_t n_key = eq ? (size_t)(eq - word) : n;
	PHX_AUTO_FREE char *value = eq ? strndup(eq + 1, n - n_key - 1) : NULL;
	int r = eq ? cli_bmc_key(bmc, word, n_key, value ? value : "") : -ENOENT;
	if (r == -ENOENT)
		return cli_fail(CLI_USAGE, "BMC: there is no key '%.*s'", (int)n_key, word);
	if (r < 0)
		return cli_fail(CLI_USAGE, "BMC: %.*s is true or false, not '%s'", (int)n_key, word,
				value ? value : "");
	return CLI_OK;
}

int cli_bmc(const char *const *words, unsigned n, json_t *bmc)
{
	int code = CLI_OK;
	for (unsigned i = 0; i < n; i++)
		for (const char *p = words[i]; !code && *p;) {
			size_t len = strcspn(p, ",");
			code = set_bmc(bmc, p, len);
			p += len + (p[len] == ',');
		}
	return code;
}

int cli_token(const char *path, json_t *body, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	int r = phx_file_read(path, TOKEN_MAX, &text, NULL, err);
	if (r < 0)
		return r;
	text[strcspn(text, "\r\n")] = '\0';
	json_object_set_new(body, "token", json_string(text));
	explicit_bzero(text, strlen(text));
	return 0;
}

int cli_mac_add(json_t *body, const char *text)
{
	char mac[PHX_MAC_MAX];
	json_t *macs = json_object_get(body, "macs");
	if (phx_mac_parse(text, mac) < 0)
		return -EINVAL;
	if (!macs)
		json_object_set_new(body, "macs", macs = json_array());
	return json_array_append_new(macs, json_string(mac)) < 0 ? -ENOMEM : 0;
}

void cli_identity(const struct cli *cli, json_t *body)
{
	static const struct {
		enum cli_option_id id;
		const char *key;
	} texts[] = {{CLI_OPT_serial, "serial"}, {CLI_OPT_uuid, "uuid"}, {CLI_OPT_ip, "ip"}};
	const struct cli_values *macs = &cli->args.opt[CLI_OPT_mac];
	for (size_t i = 0; i < PHX_ARRAY_SIZE(texts); i++)
		if (cli_has(cli, texts[i].id))
			json_object_set_new(body, texts[i].key,
					    json_string(cli_opt(cli, texts[i].id, "")));
	for (unsigned i = 0; i < macs->n; i++)
		cli_mac_add(body, macs->v[i]);
}
