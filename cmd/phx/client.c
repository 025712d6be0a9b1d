/* The connection to phxd: over its Unix socket, or HTTPS with a certificate. Turns HTTP statuses
 * into exit codes and says what to do about them. Called by the commands that ask phxd. Repeats
 * no request. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "http/http.h"
#include "phx/cli.h"

enum { CALL_TIMEOUT_MS = 60000, TRIES = 5, TRY_AGAIN_MAX_S = 10 };

char *cli_own_file(const char *name)
{
	const char *home = getenv("HOME");
	return phx_path("%s/.config/phoenix/%s", home ? home : "", name);
}

/* The option, else a file of this person's certificate; malloc'd. */
static char *own_file(const struct cli *cli, enum cli_option_id id, const char *name)
{
	const char *given = cli_opt(cli, id, NULL);
	return given ? strdup(given) : cli_own_file(name);
}

static int open_remote(struct cli *cli, const char *url, struct phx_err *err)
{
	PHX_AUTO_FREE char *cert = own_file(cli, CLI_OPT_cert, "cert.pem");
	PHX_AUTO_FREE char *key = own_file(cli, CLI_OPT_key, "key.pem");
	PHX_AUTO_FREE char *ca = own_file(cli, CLI_OPT_ca, "ca.pem");
	cli->remote = true;
	return phx_http_client_new(&(struct phx_http_client_config){.base_url = url,
								    .ca_pem_path = ca,
								    .cert_pem_path = cert,
								    .key_pem_path = key},
				   &cli->http, err);
}

static int open_local(struct cli *cli, const char *path, struct phx_err *err)
{
	return phx_http_client_new(
		&(struct phx_http_client_config){.unix_path = path, .base_url = "http://unix"},
		&cli->http, err);
}

/* What was said here wins over the environment, that over the configuration. */
int cli_client_open(struct cli *cli, struct phx_err *err)
{
	if (cli->http)
		return CLI_OK;
	const char *socket = cli_opt(cli, CLI_OPT_socket, NULL);
	const char *server = cli_opt(cli, CLI_OPT_server, socket ? NULL : getenv("PHX_SERVER"));
	if (!server && !socket)
		socket = getenv("PHX_SOCKET");
	if (!server && !socket) {
		const struct phx_config *cfg = cli_config(cli);
		if (!cfg)
			return CLI_CONFIG;
		socket = cfg->socket;
	}
	int r = server ? open_remote(cli, server, err) : open_local(cli, socket, err);
	return r < 0
		? phx_err_set(err, CLI_CONFIG, "cannot prepare the connection: %s", strerror(-r))
		: CLI_OK;
}

/* An exit code for a call that got no answer. */
static int no_answer(int r, struct phx_err *err)
{
	switch (r) {
	case -EACCES:
		return phx_err_prefix(
			err, CLI_NOT_PERMITTED,
			"phxd's socket may be used by root and the members of socket_group");
	case -ENOENT:
	case -ECONNREFUSED:
		return phx_err_prefix(err, CLI_UNAVAILABLE,
				      "phxd cannot be reached (does it run?)");
	default:
		return phx_err_prefix(err, CLI_UNAVAILABLE, "phxd cannot be reached");
	}
}

/* What an answer that is no good one means: by the error's name; by the status alone where it has
 * none. Try again is only what passes by itself. */
static int exit_of_answer(long status, const char *name)
{
	int code = phx_http_code_of(status, name);
	if (status == 502)
		return CLI_UNAVAILABLE;
	/* it was phxd's time, not ours */
	return code == -ETIMEDOUT ? CLI_PARTIAL : cli_exit_of(code);
}

static int refused(const struct phx_http_response *a, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	const char *text = NULL, *name = NULL;
	if (phx_json_parse(a->body ? a->body : "", a->n, &j, NULL) == 0) {
		text = phx_json_str(j, "error", NULL);
		name = phx_json_str(j, "code", NULL);
	}
	int code = exit_of_answer(a->status, name);
	return text ? phx_err_set(err, code, "%s", text)
		    : phx_err_set(err, code, "phxd answered with status %ld", a->status);
}

static int call(struct cli *cli, const char *method, const char *path, const json_t *body,
		uint32_t timeout_ms, struct phx_http_response *ret, struct phx_err *err)
{
	int code = cli_client_open(cli, err);
	if (code)
		return code;
	int r = phx_http_call(cli->http, method, path, body, timeout_ms, ret, err);
	/* nothing was done yet, and phxd says when to come again */
	for (int i = 1; i < TRIES && r == 0 && ret->status == 429 && ret->retry_after_s &&
	     ret->retry_after_s <= TRY_AGAIN_MAX_S;
	     i++) {
		phx_sleep_ms(ret->retry_after_s * 1000);
		phx_http_response_fini(ret);
		r = phx_http_call(cli->http, method, path, body, timeout_ms, ret, err);
	}
	if (r < 0)
		return no_answer(r, err);
	return ret->status / 100 == 2 ? CLI_OK : refused(ret, err);
}

int cli_call_quiet(struct cli *cli, const char *method, const char *path, const json_t *body,
		   uint32_t timeout_ms, json_t **ret_json, struct phx_err *err)
{
	PHX_AUTO(phx_http_response_fini) struct phx_http_response a = {0};
	int code = call(cli, method, path, body, timeout_ms, &a, err);
	if (code || !ret_json)
		return code;
	if (phx_json_parse_answer(a.body ? a.body : "", a.n, ret_json, err) < 0)
		return phx_err_prefix(err, CLI_UNAVAILABLE, "%s %s: phxd's answer", method, path);
	return CLI_OK;
}

/* ---- files ---- */

int cli_upload(struct cli *cli, const char *path, const char *file, json_t **ret_json)
{
	struct phx_err err = {0};
	PHX_AUTO_JSON json_t *answer = NULL;
	int code = cli_client_open(cli, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	int r = phx_http_upload(cli->http, path, file, &answer, &err);
	if (r < 0)
		return cli_fail_err(r, &err);
	if (ret_json)
		*ret_json = PHX_TAKE(answer);
	return CLI_OK;
}

static int write_all(void *arg, const void *data, size_t n, struct phx_err *err)
{
	const char *p = data;
	while (n) {
		ssize_t w = write(*(int *)arg, p, n);
		if (w < 0 && errno != EINTR)
			return phx_err_set(err, -errno, "cannot be written: %s", strerror(errno));
		p += w > 0 ? w : 0;
		n -= w > 0 ? (size_t)w : 0;
	}
	return 0;
}

int cli_fetch(struct cli *cli, const char *path, int *fd, struct phx_err *err)
{
	return phx_http_fetch(cli->http, path, write_all, fd, NULL, err);
}

int cli_download(struct cli *cli, const char *path, const char *file)
{
	struct phx_err err = {0};
	PHX_AUTO_FREE char *temp = phx_path("%s.phx-part", file);
	int code = cli_client_open(cli, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	PHX_AUTO_CLOSE int fd =
		temp ? open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	int r = fd < 0 ? phx_err_set(&err, -errno, "%s: %s", file, strerror(errno))
		       : cli_fetch(cli, path, &fd, &err);
	if (r == 0 && (fsync(fd) < 0 || rename(temp, file) < 0))
		r = phx_err_set(&err, -errno, "%s: %s", file, strerror(errno));
	if (r < 0 && fd >= 0)
		unlink(temp);
	return r < 0 ? cli_fail_err(r, &err) : CLI_OK;
}

/* ---- calls ---- */

int cli_call(struct cli *cli, const char *method, const char *path, const json_t *body,
	     json_t **ret_json)
{
	struct phx_err err = {0};
	int code = cli_call_quiet(cli, method, path, body, CALL_TIMEOUT_MS, ret_json, &err);
	/* a bad configuration has been told already */
	return code && err.text[0] ? cli_fail(code, "%s", err.text) : code;
}

int cli_get(struct cli *cli, const char *path, json_t **ret_json)
{
	return cli_call(cli, "GET", path, NULL, ret_json);
}

int cli_get_text(struct cli *cli, const char *path, char **ret_text, size_t *ret_n)
{
	PHX_AUTO(phx_http_response_fini) struct phx_http_response a = {0};
	struct phx_err err = {0};
	int code = call(cli, "GET", path, NULL, CALL_TIMEOUT_MS, &a, &err);
	if (code)
		return err.text[0] ? cli_fail(code, "%s", err.text) : code;
	*ret_n = a.body ? a.n : 0;
	*ret_text = a.body ? PHX_TAKE(a.body) : strdup("");
	return *ret_text ? CLI_OK : CLI_PARTIAL;
}

char *cli_url_escape(const char *text)
{
	struct phx_buf b = {0};
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		    (*p >= '0' && *p <= '9') || strchr("-._~", *p))
			phx_buf_add(&b, p, 1);
		else
			phx_buf_addf(&b, "%%%02X", *p);
	}
	return phx_buf_take(&b);
}

void cli_client_close(struct cli *cli)
{
	phx_http_client_free(cli->http);
	cli->http = NULL;
}
