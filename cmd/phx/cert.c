/* phx cert: certificates for people, with which phx --server speaks to the head
 * from elsewhere. Runs on the head, where the site's CA is; a copy of each is
 * kept there (PKI/people/NUMBER.pem), so that it can be listed and revoked when
 * nobody has its file any more. Never touches those of nodes or of the server. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "phx/cli.h"
#include "pki/pki.h"

enum { DAYS_USUAL = 365, CERT_SIZE_MAX = 16384, TELL_MS = 5000 };

struct issued {
	char *key, *csr, *cert;
};

static void issued_fini(struct issued *i)
{
	if (i->key)
		explicit_bzero(i->key, strlen(i->key));
	free(i->key);
	free(i->csr);
	free(i->cert);
}

/* The files of --server, in a directory of their own. */
static int write_files(const char *dir, const struct issued *i, const char *ca, struct phx_err *err)
{
	const struct {
		const char *name, *text;
		mode_t mode;
	} files[] = {{"key.pem", i->key, 0600}, {"cert.pem", i->cert, 0644}, {"ca.pem", ca, 0644}};
	int r = phx_dir_make(dir, 0700, err);
	for (size_t k = 0; r == 0 && k < PHX_ARRAY_SIZE(files); k++) {
		PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, files[k].name);
		r = path ? phx_file_write(path, files[k].text, strlen(files[k].text), files[k].mode,
					  err)
			 : -ENOMEM;
	}
	return r;
}

/* The vault has them, too: it says who rests on which CA. */
static int make_people(const char *pki_dir, const char *dir, struct phx_err *err)
{
	struct stat st;
	int r = phx_dir_make(dir, 0700, err);
	if (r == 0 && (stat(pki_dir, &st) < 0 || chown(dir, st.st_uid, st.st_gid) < 0))
		r = phx_err_set(err, -errno, "%s: %s", dir, strerror(errno));
	return r;
}

static int keep_copy(const char *pki_dir, const struct issued *i, struct phx_err *err)
{
	struct phx_cert_info info;
	int r = phx_cert_info_pem(i->cert, "certificate", &info, err);
	PHX_AUTO_FREE char *dir = phx_path("%s/people", pki_dir), *path = NULL;
	if (r == 0)
		r = dir ? make_people(pki_dir, dir, err) : -ENOMEM;
	if (r == 0)
		path = phx_path("%s/%s.pem", dir, info.serial);
	if (r == 0)
		r = path ? phx_file_write(path, i->cert, strlen(i->cert), 0644, err) : -ENOMEM;
	return r;
}

/* What --days says, or a year, within what phxd allows: 0, or what to exit with. */
static int how_long(struct cli *cli, uint32_t *ret_days)
{
	static const char key[] = "person_cert_days_max";
	const char *given = cli_opt(cli, CLI_OPT_days, NULL), *most = cli_head_value(cli, key);
	uint64_t max = 0, days = 0;
	if (!most)
		return cli->head_code;
	if (phx_u64_parse(most, 1, UINT32_MAX, &max) < 0)
		return cli_fail(CLI_CONFIG, "%s of phxd is \"%s\", which is no number", key, most);
	if (!given)
		days = max < DAYS_USUAL ? max : DAYS_USUAL;
	else if (phx_u64_parse(given, 1, max, &days) < 0)
		return cli_fail(CLI_USAGE,
				"--days is %s; it must be a number from 1 to %s, which is "
				"%s of phoenix.conf on the head",
				given, most, key);
	*ret_days = (uint32_t)days;
	return CLI_OK;
}

static int issue(const struct cli *cli, const char *pki_dir, const char *dir, uint32_t days,
		 struct phx_err *err)
{
	const char *name = cli_arg(cli, 0);
	PHX_AUTO(issued_fini) struct issued i = {0};
	struct phx_pki *pki = NULL;
	int kind = PHX_CERT_USER;
	int r = phx_enum_parse(&phx_cert_kind_names, cli_opt(cli, CLI_OPT_kind, "user"), &kind,
			       err);
	/* without names the server's certificate is left alone */
	if (r == 0)
		r = phx_pki_open(pki_dir, NULL, 0, &pki, err);
	if (r == 0)
		r = phx_csr_make(name, &i.key, &i.csr, err);
	if (r == 0)
		r = phx_cert_issue(pki, i.csr, (enum phx_cert_kind)kind, name, days, &i.cert, err);
	/* first the copy: none is given away that could not be revoked */
	if (r == 0)
		r = keep_copy(pki_dir, &i, err);
	if (r == 0)
		r = write_files(dir, &i, phx_pki_ca_pem(pki), err);
	phx_pki_free(pki);
	return r;
}

/* The certificate is good whether or not phxd can write that down now. */
static void tell_issued(struct cli *cli, const char *dir)
{
	struct phx_cert_info info;
	struct phx_err err = {0};
	PHX_AUTO_FREE char *path = phx_path("%s/cert.pem", dir), *pem = NULL;
	PHX_AUTO_JSON json_t *answer = NULL;
	if (!path || phx_file_read(path, CERT_SIZE_MAX, &pem, NULL, NULL) < 0 ||
	    phx_cert_info_pem(pem, path, &info, NULL) < 0)
		return;
	PHX_AUTO_JSON json_t *body =
		json_pack("{s:s, s:s, s:s}", "serial", info.serial, "name", info.name, "kind",
			  phx_enum_name(&phx_cert_kind_names, (int)info.kind));
	if (cli_call_quiet(cli, "POST", "/v1/certs", body, TELL_MS, &answer, &err))
		fprintf(stderr, "phx: warning: it is not in the journal: %s\n", err.text);
}

int cmd_cert_issue(struct cli *cli)
{
	const char *pki_dir = cli_head_dir(cli, "pki_dir"),
		   *dir = cli_opt(cli, CLI_OPT_out, cli_arg(cli, 0));
	struct phx_err err = {0};
	if (!pki_dir)
		return cli->head_code;
	PHX_AUTO_FREE char *ca = phx_path("%s/ca.key", pki_dir), *key = phx_path("%s/key.pem", dir);
	if (!ca || !key)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (access(ca, R_OK) < 0)
		return cli_fail(cli_exit_of(-errno), "%s: %s; certificates are issued on the head",
				ca, strerror(errno));
	if (access(key, F_OK) == 0)
		return cli_fail(CLI_USAGE, "%s is there already; it is not overwritten", key);
	uint32_t days;
	int code = how_long(cli, &days);
	if (code)
		return code;
	int r = issue(cli, pki_dir, dir, days, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	tell_issued(cli, dir);
	printf("%s\n", dir);
	return CLI_OK;
}

/* ---- what was issued, and what is revoked ---- */

static json_t *row_of(const char *serial, const char *name, const char *kind, int64_t expires_s)
{
	return json_pack("{s:s, s:s, s:s, s:I, s:b}", "serial", serial, "name", name, "kind", kind,
			 "expires_s", (json_int_t)expires_s, "revoked", 0);
}

static json_t *find_row(const json_t *rows, const char *serial)
{
	size_t i;
	json_t *row;
	json_array_foreach((json_t *)rows, i, row) {
		if (phx_str_eq(phx_json_str(row, "serial", ""), serial))
			return row;
	}
	return NULL;
}

/* The copies on this head, by number. */
static json_t *rows_issued(const char *pki_dir)
{
	json_t *rows = json_array();
	PHX_AUTO(phx_list_fini) struct phx_list people = {0};
	phx_pki_people(pki_dir, NULL, &people, NULL);
	PHX_LIST_EACH(struct phx_issued, i, &people)
		json_array_append_new(rows, row_of(i->serial, i->name, i->kind, i->expires_s));
	return rows;
}

/* All that is known: the copies, and what phxd says is revoked (of which there may be no copy). */
int cli_cert_rows(struct cli *cli, json_t **ret)
{
	/* from elsewhere only what is revoked can be seen: the copies lie on the head */
	const char *pki_dir = cli_head_value(cli, "pki_dir");
	PHX_AUTO_JSON json_t *answer = NULL,
			     *rows = pki_dir && !cli->remote ? rows_issued(pki_dir) : json_array();
	size_t i;
	json_t *gone;
	if (!pki_dir)
		return cli->head_code;
	int code = cli_get(cli, "/v1/certs", &answer);
	if (code)
		return code;
	json_array_foreach(json_object_get(answer, "revoked"), i, gone) {
		json_t *row = find_row(rows, phx_json_str(gone, "serial", ""));
		if (!row) {
			row = json_pack("{s:O, s:O, s:s}", "serial",
					json_object_get(gone, "serial"), "name",
					json_object_get(gone, "name"), "kind", "");
			json_array_append_new(rows, row);
		}
		json_object_set_new(row, "revoked", json_true());
	}
	*ret = PHX_TAKE(rows);
	return CLI_OK;
}

static void put_state(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)value;
	int64_t expires = phx_json_int(row, "expires_s", INT64_MAX);
	phx_buf_addf(b, "%s",
		     phx_json_bool(row, "revoked", false)     ? "revoked"
			     : expires < phx_wall_ms() / 1000 ? "expired"
							      : "good");
}

static void put_day(struct phx_buf *b, const json_t *value, const json_t *row)
{
	(void)row;
	time_t t = (time_t)json_integer_value(value);
	struct tm tm;
	char text[16];
	if (value && gmtime_r(&t, &tm) && strftime(text, sizeof(text), "%Y-%m-%d", &tm))
		phx_buf_addf(b, "%s", text);
}

static const struct cli_column columns[] = {
	{.head = "NUMBER", .path = "serial"},
	{.head = "NAME", .path = "name"},
	{.head = "KIND", .path = "kind"},
	{.head = "UNTIL", .path = "expires_s", .put = put_day},
	{.head = "STATE", .path = "", .put = put_state},
};

int cmd_cert_list(struct cli *cli)
{
	PHX_AUTO_JSON json_t *rows = NULL;
	int code = cli_cert_rows(cli, &rows);
	if (code)
		return code;
	PHX_AUTO_JSON json_t *whole = json_pack("{s:O}", "certs", rows);
	return cli_print_rows(cli, columns, PHX_ARRAY_SIZE(columns), rows, whole);
}

static int revoke_one(struct cli *cli, const json_t *row)
{
	PHX_AUTO_FREE char *path = phx_path("/v1/certs/%s/revoke", phx_json_str(row, "serial", ""));
	PHX_AUTO_JSON json_t *answer = NULL;
	PHX_AUTO_JSON json_t *body = json_pack("{s:s, s:s}", "name", phx_json_str(row, "name", ""),
					       "reason", cli_opt(cli, CLI_OPT_reason, ""));
	if (!path || !body)
		return cli_fail(CLI_PARTIAL, "out of memory");
	int code = cli_call(cli, "POST", path, body, &answer);
	if (!code)
		fprintf(stderr, "phx: certificate %s of %s %s\n", phx_json_str(row, "serial", ""),
			phx_json_str(row, "name", ""),
			phx_json_bool(answer, "changed", true) ? "is revoked"
							       : "was revoked already");
	return code;
}

/* A file that is there; -ENOENT: it is not, or it is the directory that cert issue made for NAME.
 * The row is a new reference. */
static int row_of_file(const char *path, json_t **ret, struct phx_err *err)
{
	struct phx_cert_info info;
	struct stat st;
	PHX_AUTO_FREE char *pem = NULL;
	if (stat(path, &st) < 0 || S_ISDIR(st.st_mode))
		return -ENOENT;
	int r = phx_file_read(path, CERT_SIZE_MAX, &pem, NULL, err);
	r = r < 0 ? r : phx_cert_info_pem(pem, path, &info, err);
	if (r == 0 && (info.kind == PHX_CERT_NODE || info.kind == PHX_CERT_SERVER))
		r = phx_err_set(
			err, -EINVAL,
			"%s: this is the certificate of a %s; only people's certificates are "
			"revoked (a node's ends with phx node rm)",
			path, phx_enum_name(&phx_cert_kind_names, (int)info.kind));
	if (r == 0)
		*ret = row_of(info.serial, info.name,
			      phx_enum_name(&phx_cert_kind_names, (int)info.kind), info.expires_s);
	return r == -ENOENT ? -EIO : r;
}

/* Those of a name or a number. */
static int revoke_known(struct cli *cli, const char *word)
{
	PHX_AUTO_JSON json_t *rows = NULL;
	int code = cli_cert_rows(cli, &rows), n = 0;
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) {
		bool its = phx_str_eq(phx_json_str(row, "serial", ""), word) ||
			phx_str_eq(phx_json_str(row, "name", ""), word);
		n += its;
		if (!code && its)
			code = revoke_one(cli, row);
	}
	if (!code && !n)
		code = cli_fail(CLI_USAGE,
				"'%s' is no file, and no certificate of that name or number was "
				"issued here",
				word);
	return code;
}

int cmd_cert_revoke(struct cli *cli)
{
	PHX_AUTO_JSON json_t *row = NULL;
	struct phx_err err = {0};
	int r = row_of_file(cli_arg(cli, 0), &row, &err);
	if (r == -ENOENT)
		return revoke_known(cli, cli_arg(cli, 0));
	return r < 0 ? cli_fail_err(r, &err) : revoke_one(cli, row);
}
