/* phx erasure: attestations of erases. Listing, showing and exporting ask phxd; verifying asks
 * nobody: it believes the public key that it is given, and what is signed with it. Writes the file
 * of an export and nothing else. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "pki/attestation.h"
#include "types/readback.h"

/* ---- list ---- */

static const struct cli_column list_columns[] = {
	{.head = "ID", .path = "id", .right = true},
	{.head = "NODE", .path = "node"},
	{.head = "WHEN", .path = "made_ms", .put = cli_put_when},
	{.head = "OF", .path = "from_owner"},
	{.head = "FOR", .path = "to_owner"},
	{.head = "DISKS", .path = "n_disks", .right = true},
	{.head = "RESET", .path = "reset"},
	{.head = "COUNTS UNTIL", .path = "until_ms", .put = cli_put_when},
	{.head = "ORDERED BY", .path = "ordered_by", .wide = true},
	{.head = "SERIAL", .path = "serial", .wide = true},
	{.head = "TPM", .path = "tpm", .wide = true},
	{.head = "PREVIOUS", .path = "previous", .put = cli_put_digest, .wide = true},
	{.head = "SIGNATURE", .path = "signature", .put = cli_put_digest, .wide = true},
};

int cmd_erasure_list(struct cli *cli)
{
	const char *node = cli_arg(cli, 0);
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_FREE char *path =
		node ? phx_path("/v1/erasures?node=%s", node) : strdup("/v1/erasures");
	int code = path ? cli_get(cli, path, &answer) : cli_fail(CLI_PARTIAL, "out of memory");
	if (code)
		return code;
	code = cli_print_rows(cli, list_columns, PHX_ARRAY_SIZE(list_columns),
			      json_object_get(answer, "erasures"), answer);
	if (!code && phx_json_bool(answer, "more", false))
		fprintf(stderr,
			"phx: there are attestations older than %lld: name a NODE to see them\n",
			(long long)phx_json_int(answer, "last", 0));
	return code;
}

/* ---- show ---- */

static const struct cli_column show_columns[] = {
	{.head = "Attestation", .path = "id"},
	{.head = "Node", .path = "node"},
	{.head = "Serial", .path = "serial"},
	{.head = "Data of", .path = "from_owner"},
	{.head = "Next", .path = "to_owner"},
	{.head = "Plan", .path = "epoch"},
	{.head = "Ordered by", .path = "ordered_by"},
	{.head = "Reset", .path = "reset"},
	{.head = "Reset at", .path = "reset_ms", .put = cli_put_when},
	{.head = "TPM", .path = "tpm"},
	{.head = "TPM's key", .path = "tpm_key", .put = cli_put_digest},
	{.head = "Made", .path = "made_ms", .put = cli_put_when},
	{.head = "Counts until", .path = "until_ms", .put = cli_put_when},
	{.head = "Signed with", .path = "key"},
	{.head = "Signature", .path = "signature", .put = cli_put_digest},
	{.head = "Previous", .path = "previous", .put = cli_put_digest},
};

static const struct cli_column disk_columns[] = {
	{.head = "DISK", .path = "id"},
	{.head = "SIZE", .path = "size_bytes", .put = cli_put_size, .right = true},
	{.head = "METHOD", .path = "said.used"},
	{.head = "VERIFY", .path = "verify"},
	{.head = "READ BACK", .path = "said.verified_bytes", .put = cli_put_size, .right = true},
	{.head = "PLACES", .path = "said.places", .right = true},
	{.head = "SUM", .path = "said.read_sha256", .put = cli_put_digest},
	{.head = "HIDDEN", .path = "said.hidden"},
	{.head = "DEPLOY IMAGE", .path = "image"},
	{.head = "SIGNER", .path = "signer", .put = cli_put_digest},
	{.head = "WHEN", .path = "erased_ms", .put = cli_put_when},
	{.head = "LEFT, AS PROTECTED BY", .path = "left"},
};

/* ---- where the read-back was drawn ---- */

enum { SHOWN_PLACES = 6, SIZE_MAX_SHIFT = 50 };

/* Only a disk that was read at places has them: not one that was read whole, nor one whose key was
 * destroyed. */
static bool is_drawn(const json_t *disk)
{
	int64_t size = phx_json_int(cli_member(disk, "said"), "size_bytes", 0);
	const char *used = phx_json_str(cli_member(disk, "said"), "used", "");
	return phx_json_int(disk, "nonce", 0) && size > 0 && size >> SIZE_MAX_SHIFT == 0 &&
		strcmp(used, phx_enum_name(&phx_wipe_method_names, PHX_WIPE_CRYPTO)) != 0 &&
		phx_json_int(cli_member(disk, "said"), "verified_bytes", size) < size;
}

/* They follow from what is signed, by the function that the deploy environment asked. */
static int add_drawn(json_t *disk)
{
	PHX_AUTO(phx_list_fini) struct phx_list drawn = {0};
	PHX_AUTO_JSON json_t *places = json_array();
	int64_t size = phx_json_int(cli_member(disk, "said"), "size_bytes", 0);
	int r = places ? 0 : -ENOMEM;
	if (r == 0 && is_drawn(disk))
		r = phx_readback_drawn((uint64_t)size, (uint64_t)phx_json_int(disk, "nonce", 0),
				       &drawn);
	for (uint32_t i = 0; r == 0 && i < drawn.n; i++)
		r = json_array_append_new(
			places, json_integer((json_int_t)*PHX_LIST_AT(&drawn, uint64_t, i)));
	return r ? r : json_object_set(disk, "drawn", places);
}

static void put_count(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	phx_buf_addf(b, "%zu", json_array_size(value));
}

static void put_first(struct phx_buf *b, const json_t *value, const json_t *row)
{
	size_t n = json_array_size(value);
	for (size_t i = 0; i < n && i < SHOWN_PLACES; i++) {
		phx_buf_addf(b, "%s", i ? ", " : "");
		if (json_integer_value(json_array_get(value, i)))
			cli_put_size(b, json_array_get(value, i), row);
		else
			phx_buf_addf(b, "0");
	}
	phx_buf_addf(b, "%s", n > SHOWN_PLACES ? ", ..." : "");
}

static const struct cli_column drawn_columns[] = {
	{.head = "DISK", .path = "id"},
	{.head = "NONCE", .path = "nonce", .right = true},
	{.head = "DRAWN", .path = "drawn", .put = put_count, .right = true},
	{.head = "READ BACK A MIB AT", .path = "drawn", .put = put_first},
};

static int get_one(struct cli *cli, json_t **ret)
{
	PHX_AUTO_FREE char *path = phx_path("/v1/erasures/%s", cli_arg(cli, 0));
	return path ? cli_get(cli, path, ret) : cli_fail(CLI_PARTIAL, "out of memory");
}

int cmd_erasure_show(struct cli *cli)
{
	PHX_AUTO_JSON json_t *j = NULL;
	int code = get_one(cli, &j);
	if (code)
		return code;
	json_object_del(j, "text");
	json_t *disk, *disks = json_object_get(j, "disks");
	size_t i;
	json_array_foreach(disks, i, disk)
		if (add_drawn(disk) < 0)
			return cli_fail(CLI_PARTIAL, "out of memory");
	if (cli_structured(cli))
		return cli_print_value(cli, j);
	cli_print_lines(show_columns, PHX_ARRAY_SIZE(show_columns), j);
	code = cli_print_table(cli, disk_columns, PHX_ARRAY_SIZE(disk_columns), disks, 2);
	putchar('\n');
	return code ? code
		    : cli_print_table(cli, drawn_columns, PHX_ARRAY_SIZE(drawn_columns), disks, 2);
}

/* ---- export, key ---- */

static int put(const char *file, const char *text)
{
	struct phx_err err = {0};
	if (file) {
		int r = phx_file_write(file, text, strlen(text), 0644, &err);
		return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
	}
	return fputs(text, stdout) < 0 ? cli_fail(CLI_PARTIAL, "%s", strerror(errno)) : CLI_OK;
}

int cmd_erasure_export(struct cli *cli)
{
	PHX_AUTO_JSON json_t *j = NULL;
	int code = get_one(cli, &j);
	return code ? code : put(cli_arg(cli, 1), phx_json_str(j, "text", ""));
}

int cmd_erasure_key(struct cli *cli)
{
	PHX_AUTO_JSON json_t *j = NULL;
	int code = cli_get(cli, "/v1/attestation-key", &j);
	if (code)
		return code;
	if (cli_structured(cli))
		return cli_print_value(cli, j);
	PHX_AUTO_FREE char *both =
		phx_path("%s%s", phx_json_str(j, "pem", ""), phx_json_str(j, "ca", ""));
	return both ? put(cli_arg(cli, 0), both) : cli_fail(CLI_PARTIAL, "out of memory");
}

/* ---- verify ---- */

/* What is believed: the file of `phx erasure key`. */
struct believed {
	const char *pub; /* its path */
	char *text;
	const char *ca; /* the CA's certificates in it; NULL: it has none, as files of before */
};

static int read_believed(const char *pub, struct believed *ret, struct phx_err *err)
{
	char fp[PHX_FINGERPRINT_MAX];
	ret->pub = pub;
	int r = phx_pub_fingerprint(pub, fp, err);
	if (r == 0)
		r = phx_file_read(pub, 1 << 20, &ret->text, NULL, err);
	if (r == 0)
		ret->ca = strstr(ret->text, "-----BEGIN CERTIFICATE-----");
	return r;
}

/* One file, and what came of it. */
struct given {
	const char *file;
	bool read; /* it is an attestation that was signed: `a` and `digest` are its */
	struct phx_attestation a;
	char digest[PHX_SHA256_HEX];
	int finding; /* 0: it proves what it says */
	struct phx_err why;
};

/* Negative: it cannot be looked at. */
static int look(struct given *g, const struct believed *b, int64_t now_ms, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n = 0;
	int r = phx_file_read(g->file, PHX_ATTESTATION_TEXT_MAX, &text, &n, err);
	if (r == -EFBIG || r == -E2BIG) {
		g->finding = phx_err_set(&g->why, -EINVAL, "it is too large to be an attestation");
		return 0;
	}
	if (r < 0)
		return r;
	g->finding = phx_attestation_verify(text, n, b->pub, b->ca, now_ms, &g->a, &g->why);
	g->read = g->finding == 0 || g->finding == -ETIME;
	return g->read ? phx_attestation_digest(text, n, g->digest) : 0;
}

static int by_node_and_id(const void *x, const void *y)
{
	const struct given *a = x, *b = y;
	if (a->read != b->read)
		return a->read ? -1 : 1;
	int order = a->read ? strcmp(a->a.node, b->a.node) : 0;
	return order                 ? order
		: a->a.id != b->a.id ? (a->a.id < b->a.id ? -1 : 1)
				     : strcmp(a->digest, b->digest);
}

/* Those of one node follow each other, without a gap. The same one twice says nothing. */
static void check_chains(struct given *all, uint32_t n)
{
	qsort(all, n, sizeof(*all), by_node_and_id);
	for (uint32_t i = 1; i < n && all[i].read; i++) {
		struct given *before = &all[i - 1], *g = &all[i];
		if (strcmp(before->a.node, g->a.node) || !strcmp(before->digest, g->digest))
			continue;
		struct phx_err why = {0};
		int r = phx_attestation_follows(&before->a, before->digest, &g->a, &why);
		if (r < 0 && !g->finding) {
			g->finding = r;
			g->why = why;
		}
	}
}

static const char *finding_name(int finding)
{
	static const struct {
		int finding;
		const char *name;
	} names[] = {
		{0, "ok"},
		{-EINVAL, "no-attestation"},
		{-ENOKEY, "other-key"},
		{-EKEYREJECTED, "altered"},
		{-ENODATA, "no-evidence"},
		{-EPERM, "not-certified"},
		{-ESTALE, "other-evidence"},
		{-ETIME, "expired"},
		{-EXDEV, "broken-chain"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(names); i++)
		if (names[i].finding == finding)
			return names[i].name;
	return "error";
}

/* What is known of whose keys signed the erases, where nothing else is wrong. */
static const char *signers(const struct given *g, const struct believed *b)
{
	return !g->read                                 ? ""
		: !phx_attestation_shows_signers(&g->a) ? "unproven"
		: b->ca                                 ? "certified"
							: "unchecked";
}

/* Its disks that were not erased. */
static json_t *left(const struct given *g)
{
	json_t *list = json_array();
	PHX_LIST_EACH(struct phx_attested_disk, d, &g->a.disks)
		if (d->left[0])
			json_array_append_new(list,
					      json_pack("{s:s,s:s}", "id", d->id, "why", d->left));
	return list;
}

static json_t *view(const struct given *g, const struct believed *b)
{
	return json_pack("{s:s,s:b,s:s,s:s,s:s,s:s,s:I,s:s,s:s,s:I,s:o,s:I,s:I,s:s,s:s}", "file",
			 g->file, "ok", g->finding == 0, "finding", finding_name(g->finding),
			 "text", g->why.text, "signers", signers(g, b), "node", g->a.node, "id",
			 (json_int_t)g->a.id, "from_owner", g->a.from_owner, "to_owner",
			 g->a.to_owner, "n_disks", (json_int_t)g->a.disks.n, "left", left(g),
			 "made_ms", (json_int_t)g->a.made_ms, "until_ms", (json_int_t)g->a.until_ms,
			 "sha256", g->digest, "previous", g->a.previous);
}

static const char *say_signers(const struct given *g, const struct believed *b)
{
	if (!phx_attestation_shows_signers(&g->a))
		return "it is of a format of before, and carries no proof of whose keys signed its "
		       "erases";
	return b->ca ? "the site certified the keys that signed its erases for that node"
		     : "whether the site certified the keys that signed its erases was not looked "
		       "at, for the file of --pub has no CA: phx erasure key gives both";
}

/* Whoever has the node next sees what is on these. */
static void say_left(const struct given *g)
{
	uint32_t n = phx_attestation_left(&g->a);
	if (!n)
		return;
	printf("%s: %u disk%s left as protected, with all data:", g->file, n, n == 1 ? "" : "s");
	const char *separator = "";
	PHX_LIST_EACH(struct phx_attested_disk, d, &g->a.disks) {
		if (!d->left[0])
			continue;
		printf("%s %s by %s", separator, d->id, d->left);
		separator = ";";
	}
	putchar('\n');
}

static void say_ok(const struct given *g, const struct believed *b)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf when = {0};
	PHX_AUTO_JSON json_t *ms = json_integer(g->a.made_ms);
	uint32_t n = g->a.disks.n - phx_attestation_left(&g->a);
	cli_put_when(&when, ms, NULL);
	printf("%s: OK: attestation %" PRIu64 " of %s, %s: all data of %s is erased from its %u "
	       "%sdisk%s%s%s; %s; %s\n",
	       g->file, g->a.id, g->a.node, when.data ? when.data : "",
	       g->a.from_owner[0] ? g->a.from_owner : "whoever had it", n,
	       n < g->a.disks.n ? "unprotected " : "", n == 1 ? "" : "s",
	       g->a.to_owner[0] ? ", before it goes to " : "", g->a.to_owner,
	       g->a.previous[0] ? "it follows an earlier one" : "it is the first",
	       say_signers(g, b));
}

static int report(struct cli *cli, const struct given *all, uint32_t n, const struct believed *b)
{
	int code = CLI_OK;
	PHX_AUTO_JSON json_t *rows = json_array();
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "files", rows);
	for (const struct given *g = all; g < all + n; g++) {
		json_array_append_new(rows, view(g, b));
		if (g->finding)
			code = CLI_PARTIAL;
		if (cli_structured(cli))
			continue;
		if (g->finding) {
			cli_fail(CLI_PARTIAL, "%s: NO: %s", g->file, g->why.text);
		} else {
			say_ok(g, b);
			say_left(g);
		}
	}
	if (cli_structured(cli))
		cli_print_value(cli, whole);
	return code;
}

int cmd_erasure_verify(struct cli *cli)
{
	const char *pub = cli_opt(cli, CLI_OPT_pub, NULL);
	uint32_t n = cli->args.n_args;
	struct believed b = {0};
	struct phx_err err = {0};
	if (!pub)
		return cli_fail(CLI_USAGE,
				"--pub FILE is missing: phx erasure key gives it, once, "
				"from a head that you believe");
	struct given *all = calloc(n, sizeof(*all));
	int r = all ? read_believed(pub, &b, &err) : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		all[i].file = cli_arg(cli, i);
		r = look(&all[i], &b, phx_wall_ms(), &err);
		if (r == 0 && !strcmp(finding_name(all[i].finding), "error")) {
			r = all[i].finding; /* it says nothing of the file */
			err = all[i].why;
		}
	}
	if (r == 0)
		check_chains(all, n);
	int code = r < 0 ? cli_fail_err(r, &err) : report(cli, all, n, &b);
	for (uint32_t i = 0; all && i < n; i++)
		phx_record_fini(&phx_attestation_record, &all[i].a);
	free(all);
	free(b.text);
	return code;
}
