/* The site's CAs: the one that signs, and while it is changed the one before it, which is believed
 * until it is retired. ca.pem alone says which they are, the one that signs first; each change is
 * its rename, and who opens the directory next brings the rest in order, whatever was cut off:
 *
 *	ca.pem   A           ca.key of A
 *	         A           and ca-next.key of B, ca-old.key of A: taken back
 *	 rotate  B A         the same: ca-next.key becomes ca.key
 *	         B A         ca.key of B, ca-old.key of A
 *	 retire  B           ca-old.key is destroyed
 *
 * Called by site.c with the directory locked, and by the vault. */
#include "pki/internal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <openssl/err.h>

#include "base/file.h"

#define CA_NAME "Phoenix site CA"
#define CA_PEM "ca.pem"
#define CA_KEY "ca.key"
#define NEXT_KEY "ca-next.key"
#define OLD_KEY "ca-old.key"

/* ---- opening ---- */

static int make_ca(EVP_PKEY *key, char **ret_pem, struct phx_err *err)
{
	struct phx_cert_spec spec = {.subject_key = key, .issuer_key = key, .name = CA_NAME};
	PHX_AUTO_CERT X509 *x = phx_cert_make(&spec, err);
	*ret_pem = x ? phx_cert_pem(x) : NULL;
	return *ret_pem ? 0 : -EIO;
}

static bool fits(const struct phx_pki *p, EVP_PKEY *key)
{
	bool is = X509_check_private_key(p->cas.certs[0], key) == 1;
	ERR_clear_error();
	return is;
}

/* A change that was cut off behind its rename: the new CA's key is still called the next one. */
static int take_next(const char *dir, struct phx_pki *p, struct phx_err *err)
{
	PHX_AUTO_FREE char *next = phx_path("%s/" NEXT_KEY, dir), *at = phx_path("%s/" CA_KEY, dir);
	PHX_AUTO_KEY EVP_PKEY *key = NULL;
	if (!next || !at)
		return -ENOMEM;
	int r = access(next, F_OK) < 0 ? -ENOENT : phx_pki_open_key(dir, NEXT_KEY, NULL, &key, err);
	if (r == -ENOENT || (r == 0 && !fits(p, key)))
		return phx_err_set(err, -EINVAL, "%s: ca.pem and ca.key do not belong together",
				   dir);
	r = r ? r : phx_file_publish(next, at, err);
	if (r < 0)
		return r;
	EVP_PKEY_free(p->ca_key);
	p->ca_key = PHX_TAKE(key);
	return 0;
}

static int destroy(const char *dir, const char *name, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = phx_path("%s/%s", dir, name);
	if (!path)
		return -ENOMEM;
	return access(path, F_OK) < 0 ? 0 : phx_diskkey_destroy(dir, name, err);
}

/* Keys of a change that did not come to be, or is over. */
static int sweep(const char *dir, const struct phx_pki *p, struct phx_err *err)
{
	int r = destroy(dir, NEXT_KEY, err);
	return r || phx_pki_rolls(p) ? r : destroy(dir, OLD_KEY, err);
}

int phx_pki_open_cas(const char *dir, struct phx_pki *p, struct phx_err *err)
{
	int missing = phx_pki_read_pem(dir, CA_PEM, &p->ca_pem, err);
	if (missing < 0)
		return missing;
	int r = phx_pki_open_key(dir, CA_KEY, missing ? PHX_TLS_KEY_TYPE : NULL, &p->ca_key, err);
	if (r == 0 && missing)
		r = make_ca(p->ca_key, &p->ca_pem, err);
	if (r == 0 && missing)
		r = phx_pki_write_pem(dir, CA_PEM, p->ca_pem, 0644, err);
	if (r < 0)
		return r;
	r = phx_cas_parse(p->ca_pem, CA_PEM, &p->cas, err);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", dir);
	if (!fits(p, p->ca_key))
		r = take_next(dir, p, err);
	return r ? r : sweep(dir, p, err);
}

/* While not everybody knows the CA that signs, the head shows what everybody believes. */
int phx_pki_server_issuer(const char *dir, const struct phx_pki *p, EVP_PKEY **ret_key,
			  struct phx_err *err)
{
	if (phx_pki_rolls(p))
		return phx_pki_open_key(dir, OLD_KEY, NULL, ret_key, err);
	EVP_PKEY_up_ref(p->ca_key);
	*ret_key = p->ca_key;
	return 0;
}

X509 *phx_pki_server_ca(const struct phx_pki *p)
{
	return p->cas.certs[p->cas.n - 1];
}

/* ---- changing ---- */

static int write_key(const char *dir, const char *name, EVP_PKEY *key, struct phx_err *err)
{
	PHX_AUTO_SECRET char *pem = phx_pki_key_pem(key);
	return phx_pki_write_pem(dir, name, pem, 0600, err);
}

static int add_next(const char *dir, const struct phx_pki *p, struct phx_err *err)
{
	PHX_AUTO_KEY EVP_PKEY *key = phx_pki_key_new(PHX_TLS_KEY_TYPE, err);
	PHX_AUTO_FREE char *pem = NULL, *both = NULL;
	int r = key ? make_ca(key, &pem, err) : -EIO;
	r = r ? r : write_key(dir, NEXT_KEY, key, err);
	r = r ? r : write_key(dir, OLD_KEY, p->ca_key, err);
	if (r == 0 && asprintf(&both, "%s%s", pem, p->ca_pem) < 0)
		r = -ENOMEM;
	return r ? r : phx_pki_write_pem(dir, CA_PEM, both, 0644, err);
}

int phx_pki_rotate(const char *dir, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = phx_pki_lock(dir, err);
	PHX_AUTO_PKI struct phx_pki *p = calloc(1, sizeof(*p));
	int r = fd < 0 ? fd : p ? phx_pki_open_cas(dir, p, err) : -ENOMEM;
	if (r == 0 && phx_pki_rolls(p))
		r = phx_err_set(err, -EBUSY,
				"the CA is being changed already: see phx pki show, and end the "
				"former one with phx pki retire");
	return r ? r : add_next(dir, p, err);
}

int phx_pki_retire(const char *dir, struct phx_err *err)
{
	PHX_AUTO_CLOSE int fd = phx_pki_lock(dir, err);
	PHX_AUTO_PKI struct phx_pki *p = calloc(1, sizeof(*p));
	PHX_AUTO_FREE char *pem = NULL;
	int r = fd < 0 ? fd : p ? phx_pki_open_cas(dir, p, err) : -ENOMEM;
	if (r == 0 && !phx_pki_rolls(p))
		r = phx_err_set(err, -ENOENT,
				"there is one CA alone, which signs: nothing to retire (phx pki "
				"rotate makes another one)");
	if (r == 0 && !(pem = phx_cert_pem(p->cas.certs[0])))
		r = -ENOMEM;
	return r ? r : phx_pki_write_pem(dir, CA_PEM, pem, 0644, err);
}
