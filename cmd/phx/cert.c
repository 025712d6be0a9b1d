/* phx cert: certificates for people, with which phx --server speaks to the head
 * from elsewhere. Runs on the head, where the site's CA is. Never touches those
 * of nodes or of the server. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "phx/cli.h"
#include "pki/pki.h"

enum { DAYS_MAX = 3650 };

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
		r = path ? phx_file_write(path, files[k].text, strlen(files[k].text), files[k].mode, err) : -ENOMEM;
	}
	return r;
}

static int issue(const struct cli *cli, const char *pki_dir, const char *dir, struct phx_err *err)
{
	const char *name = cli_arg(cli, 0);
	PHX_AUTO(issued_fini) struct issued i = {0};
	struct phx_pki *pki = NULL;
	uint64_t days = 365;
	int kind = PHX_CERT_USER;
	phx_u64_parse(cli_opt(cli, CLI_OPT_days, ""), 1, DAYS_MAX, &days);
	int r = phx_enum_parse(&phx_cert_kind_names, cli_opt(cli, CLI_OPT_kind, "user"), &kind, err);
	/* without names the server's certificate is left alone */
	if (r == 0)
		r = phx_pki_open(pki_dir, NULL, 0, &pki, err);
	if (r == 0)
		r = phx_csr_make(name, &i.key, &i.csr, err);
	if (r == 0)
		r = phx_cert_issue(pki, i.csr, (enum phx_cert_kind)kind, name, (uint32_t)days, &i.cert, err);
	if (r == 0)
		r = write_files(dir, &i, phx_pki_ca_pem(pki), err);
	phx_pki_free(pki);
	return r;
}

int cmd_cert_issue(struct cli *cli)
{
	const struct phx_config *cfg = cli_config(cli);
	const char *dir = cli_opt(cli, CLI_OPT_out, cli_arg(cli, 0));
	struct phx_err err = {0};
	if (!cfg)
		return CLI_CONFIG;
	PHX_AUTO_FREE char *ca = phx_path("%s/ca.key", cfg->pki_dir), *key = phx_path("%s/key.pem", dir);
	if (!ca || !key)
		return cli_fail(CLI_PARTIAL, "out of memory");
	if (access(ca, R_OK) < 0)
		return cli_fail(cli_exit_of(-errno), "%s: %s; certificates are issued on the head", ca,
				strerror(errno));
	if (access(key, F_OK) == 0)
		return cli_fail(CLI_USAGE, "%s is there already; it is not overwritten", key);
	int r = issue(cli, cfg->pki_dir, dir, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	printf("%s\n", dir);
	return CLI_OK;
}
