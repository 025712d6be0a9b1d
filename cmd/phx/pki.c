/* phx pki: the keys and certificates that a site rests on, as they lie on the head, of which it
 * reads public halves only; and the change of the CA, which phxd does. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "pki/ring.h"

enum { PEM_SIZE_MAX = 65536, TELL_MS = 5000 };

static const struct cli_column pki_columns[] = {
	{.head = "KEY", .path = "name"},
	{.head = "FOR", .path = "use"},
	{.head = "UNTIL", .path = "until"},
	{.head = "ID", .path = "id"},
};

/* Year 9999, as RFC 5280 has it, is no end. */
static void put_until(int64_t expires_s, char *ret, size_t size)
{
	time_t at = (time_t)expires_s;
	struct tm tm;
	if (!gmtime_r(&at, &tm) || tm.tm_year + 1900 >= 9999)
		snprintf(ret, size, "no end");
	else
		strftime(ret, size, "%Y-%m-%d", &tm);
}

static json_t *row_of(const char *name, const char *use, const char *until, const char *id)
{
	return json_pack("{s:s, s:s, s:s, s:s}", "name", name, "use", use, "until", until, "id",
			 id);
}

/* The CA that signs, and the former ones. */
static int add_cas(json_t *rows, const char *dir, const char *name, const char *use,
		   struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s.pem", dir, name), *pem = NULL;
	struct phx_ca_info cas[PHX_CAS_MAX];
	char until[32], text[PHX_CA_TEXT_MAX];
	int r = path ? phx_file_read(path, PEM_SIZE_MAX, &pem, NULL, err) : -ENOMEM;
	int n = r ? r : phx_ca_list(pem, path, cas, err);
	for (int i = 0; i < n; i++) {
		put_until(cas[i].expires_s, until, sizeof(until));
		if (phx_ca_when(&cas[i], phx_wall_ms() / 1000, text))
			fprintf(stderr, "phx: %s\n", text);
		json_array_append_new(rows,
				      row_of(i ? "ca (former)" : name,
					     i ? "what it had signed, until phx pki retire" : use,
					     until, cas[i].id));
	}
	return n < 0 ? n : 0;
}

static int add_cert(json_t *rows, const char *dir, const char *name, const char *use,
		    struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s.pem", dir, name), *pem = NULL;
	char id[PHX_FINGERPRINT_MAX], until[32];
	int64_t expires_s = 0;
	int r = path ? phx_file_read(path, PEM_SIZE_MAX, &pem, NULL, err) : -ENOMEM;
	r = r ? r : phx_cert_brief(pem, path, id, &expires_s, err);
	if (r < 0)
		return r;
	put_until(expires_s, until, sizeof(until));
	return json_array_append_new(rows, row_of(name, use, until, id)) < 0 ? -ENOMEM : 0;
}

static int add_key(json_t *rows, const char *dir, const char *name, const char *use,
		   struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s.pub", dir, name);
	char id[PHX_FINGERPRINT_MAX];
	int r = path ? phx_pub_fingerprint(path, id, err) : -ENOMEM;
	if (r < 0)
		return r;
	return json_array_append_new(rows, row_of(name, use, "no end", id)) < 0 ? -ENOMEM : 0;
}

static int add_ring(json_t *rows, const char *ring, struct phx_err *err)
{
	PHX_AUTO(phx_list_fini) struct phx_list keys = {0};
	int r = phx_ring_read(ring, &keys, err);
	PHX_LIST_EACH(struct phx_ring_key, k, &keys)
		json_array_append_new(rows,
				      row_of(k->name, "packages and images", "no end", k->id));
	return r;
}

static bool has_former(const json_t *rows)
{
	return phx_str_starts(phx_json_str(json_array_get(rows, 1), "name", ""), "ca ");
}

/* phxd alone knows which nodes have had their certificates renewed. */
static void add_rest(struct cli *cli, json_t *answer)
{
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *rest = NULL;
	if (cli_call_quiet(cli, "GET", "/v1/pki", NULL, TELL_MS, &rest, &err)) {
		fprintf(stderr, "phx: who rests on the former CA is not known: %s\n", err.text);
		return;
	}
	json_object_set(answer, "rest", rest);
	size_t nodes = json_array_size(json_object_get(rest, "nodes"));
	size_t certs = json_array_size(json_object_get(rest, "certs"));
	fprintf(stderr,
		"phx: the CA is being changed: %zu node%s and %zu certificate%s of people "
		"rest on the former one%s\n",
		nodes, nodes == 1 ? "" : "s", certs, certs == 1 ? "" : "s",
		nodes + certs ? " (-o json names them)" : ": phx pki retire ends it");
}

int cmd_pki_rotate(struct cli *cli)
{
	PHX_AUTO_JSON json_t *body = json_pack("{s:s}", "reason", cli_opt(cli, CLI_OPT_reason, ""));
	int code = cli_call(cli, "POST", "/v1/pki/rotate", body, NULL);
	if (!code)
		fprintf(stderr,
			"phx: another CA signs; phx pki show says who still rests on the "
			"former one, and phx pki retire ends it\n");
	return code;
}

int cmd_pki_retire(struct cli *cli)
{
	bool force = cli_has(cli, CLI_OPT_force);
	PHX_AUTO_JSON json_t *body = json_pack("{s:b}", "force", force);
	int code = cli_confirm(
		cli, force ? "retire the former CA, whoever is shut out" : "retire the former CA",
		1);
	code = code ? code : cli_call(cli, "POST", "/v1/pki/retire", body, NULL);
	if (!code)
		fprintf(stderr, "phx: the former CA is believed no more\n");
	return code;
}

int cmd_pki_show(struct cli *cli)
{
	static const struct {
		int (*add)(json_t *rows, const char *dir, const char *name, const char *use,
			   struct phx_err *err);
		const char *name, *use;
	} all[] = {
		{add_cas, "ca", "certificates of nodes, people and the head"},
		{add_cert, "server", "HTTPS of the head"},
		{add_key, "site", "anchors of the journal, erase records"},
		{add_key, "attest", "attestations of erases"},
	};
	const char *dir = cli_head_dir(cli, "pki_dir");
	PHX_AUTO_FREE char *ring = dir ? cli_package_ring(cli) : NULL;
	PHX_AUTO_JSON json_t *rows = json_array();
	struct phx_err err = {0};
	int r = 0;
	if (!ring)
		return cli->head_code;
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(all); i++)
		r = all[i].add(rows, dir, all[i].name, all[i].use, &err);
	r = r ? r : add_ring(rows, ring, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	PHX_AUTO_JSON json_t *answer = json_pack("{s:O}", "keys", rows);
	if (has_former(rows))
		add_rest(cli, answer);
	return cli_print_rows(cli, pki_columns, PHX_ARRAY_SIZE(pki_columns), rows, answer);
}
