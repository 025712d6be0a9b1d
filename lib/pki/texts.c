/* A PKI that is open, as those see it who serve with it. Opened by site.c, or made of texts that
 * another process has opened. */
#include "pki/internal.h"

#include <errno.h>
#include <string.h>

const char *phx_pki_ca_pem(const struct phx_pki *p)
{
	return p->ca_pem;
}

uint64_t phx_pki_ca_number(const struct phx_pki *p)
{
	return p->cas.number;
}

const char *phx_pki_server_pem(const struct phx_pki *p)
{
	return p->server_pem;
}

const char *phx_pki_server_key_pem(const struct phx_pki *p)
{
	return p->server_key_pem;
}

const char *phx_pki_site_pub_pem(const struct phx_pki *p)
{
	return p->site_pub_pem;
}

const uint8_t *phx_pki_start_key(const struct phx_pki *p)
{
	return p->start_key;
}

const char *phx_pki_attest_pub_pem(const struct phx_pki *p)
{
	return p->attest_pub_pem;
}

char *phx_pki_keep_key(const char *pem)
{
	size_t n = strlen(pem) + 1;
	char *kept = OPENSSL_secure_malloc(n);
	if (kept)
		memcpy(kept, pem, n);
	return kept;
}

void phx_pki_forget_key(char *pem)
{
	if (pem)
		OPENSSL_secure_clear_free(pem, strlen(pem) + 1);
}

void phx_pki_free(struct phx_pki *p)
{
	if (!p)
		return;
	EVP_PKEY_free(p->ca_key);
	phx_cas_fini(&p->cas);
	free(p->ca_pem);
	free(p->server_pem);
	phx_pki_forget_key(p->server_key_pem);
	free(p->site_pub_pem);
	explicit_bzero(p->start_key, sizeof(p->start_key));
	free(p->attest_pub_pem);
	free(p);
}

int phx_pki_public(const struct phx_pki_texts *texts, struct phx_pki **ret)
{
	PHX_AUTO_PKI struct phx_pki *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->ca_pem = strdup(texts->ca);
	p->server_pem = strdup(texts->server);
	p->server_key_pem = phx_pki_keep_key(texts->server_key);
	p->site_pub_pem = strdup(texts->site_pub);
	p->attest_pub_pem = strdup(texts->attest_pub);
	if (!p->ca_pem || !p->server_pem || !p->server_key_pem || !p->site_pub_pem ||
	    !p->attest_pub_pem)
		return -ENOMEM;
	int r = phx_cas_parse(p->ca_pem, "the site's CA", &p->cas, NULL);
	if (r == 0)
		*ret = PHX_TAKE(p);
	return r;
}

bool phx_pki_has_ca(const struct phx_pki *p, const char *id)
{
	for (size_t i = 0; i < p->cas.n; i++)
		if (!strcmp(p->cas.ids[i], id))
			return true;
	return false;
}

const char *phx_pki_ca_id(const struct phx_pki *p)
{
	return p->cas.ids[0];
}

bool phx_pki_rolls(const struct phx_pki *p)
{
	return p->cas.n > 1;
}
