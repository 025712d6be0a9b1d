/* See trust.h. Called by enrol.c and rekey.c, for the link and for the worker. */
#include "agent/trust.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/log.h"
#include "base/clock.h"
#include "base/file.h"
#include "pki/pki.h"

enum { PEM_MAX = 65536, CALL_MS = 10000 };
#define NEXT ".next"

/* Can the head be verified by these CAs alone? Any answer will do: then it is the head. */
static int try_head(const struct agent *a, const char *ca_path, struct phx_err *err)
{
	PHX_AUTO_FREE char *url = phx_path("https://%s", a->cfg.server);
	const struct phx_http_client_config config = {.base_url = url, .ca_pem_path = ca_path};
	struct phx_http_response response = {0};
	struct phx_http_client *c = NULL;
	int r = url ? phx_http_client_new(&config, &c, err) : -ENOMEM;
	r = r ? r : phx_http_call(c, "HEAD", "/site.cpio", NULL, CALL_MS, &response, err);
	phx_http_response_fini(&response);
	phx_http_client_free(c);
	return r;
}

static int keep(struct agent *a, const char *ca, struct phx_err *err)
{
	PHX_AUTO_FREE char *next = phx_path("%s" NEXT, a->cfg.ca);
	int r = next ? phx_file_write(next, ca, strlen(ca), 0644, err) : -ENOMEM;
	if (r < 0)
		return r;
	r = try_head(a, next, err);
	if (r < 0)
		phx_err_prefix(err, r, "the CAs that the head gave, and the head");
	r = r ? r : phx_file_publish(next, a->cfg.ca, err);
	if (r < 0)
		unlink(next);
	else
		agent_log("%s: the site's CA is changed", a->cfg.ca);
	return r;
}

int trust_take(struct agent *a, const char *ca, const char *cert, const char *key_pem,
	       struct phx_err *err)
{
	PHX_AUTO_FREE char *had = NULL;
	int r = phx_file_read(a->cfg.ca, PEM_MAX, &had, NULL, err);
	if (r < 0 || !ca[0] || phx_ca_number(ca) == phx_ca_number(had))
		return r;
	r = phx_cert_check(cert, PHX_CERT_NODE, key_pem, ca, err);
	if (r < 0)
		return phx_err_prefix(err, -EBADMSG, "the CAs that the head gave");
	return keep(a, ca, err);
}

uint64_t trust_number(const struct agent *a)
{
	PHX_AUTO_FREE char *ca = NULL, *cert = NULL, *key = NULL;
	PHX_AUTO_FREE char *cert_path = phx_path("%s/agent.pem", a->cfg.state_dir);
	PHX_AUTO_FREE char *key_path = phx_path("%s/agent.key", a->cfg.state_dir);
	bool read = cert_path && key_path && !phx_file_read(a->cfg.ca, PEM_MAX, &ca, NULL, NULL) &&
		!phx_file_read(cert_path, PEM_MAX, &cert, NULL, NULL) &&
		!phx_file_read(key_path, PEM_MAX, &key, NULL, NULL);
	bool of_present = read && phx_cert_check(cert, PHX_CERT_NODE, key, ca, NULL) == 0;
	if (key)
		explicit_bzero(key, strlen(key));
	return of_present ? phx_ca_number(ca) : 0;
}

void trust_log(const struct agent *a, const struct phx_err *err)
{
	PHX_AUTO_FREE char *ca = NULL;
	struct phx_ca_info cas[PHX_CAS_MAX];
	char text[PHX_CA_TEXT_MAX];
	agent_log("%s", err->text);
	int n = phx_file_read(a->cfg.ca, PEM_MAX, &ca, NULL, NULL) < 0
		? 0
		: phx_ca_list(ca, a->cfg.ca, cas, NULL);
	for (int i = 0; i < n; i++)
		if (phx_ca_when(&cas[i], phx_wall_ms() / 1000, text) >= PHX_CA_ENDED)
			agent_log("%s: %s", a->cfg.ca, text);
}
