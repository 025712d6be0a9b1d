/* LUKS2 by libcryptsetup: see internal.h. Keys are random bytes made by the
 * daemon, so the key derivation is as cheap as the format allows (Argon2 would
 * want memory that the deploy initramfs lacks). Keys pass through, never stay. */
#include <errno.h>
#include <jansson.h>
#include <libcryptsetup.h>
#include <string.h>

#include "base/json.h"
#include "disk/internal.h"

#define MAPPED_NAME PHX_DISK_ROOT_LABEL
#define TOKEN_TYPE "phoenix"
enum { VOLUME_KEY_BYTES = 64, ITERATIONS = 1000, ENCRYPTION_SECTOR = 4096 };

static void free_device(struct crypt_device **cd)
{
	crypt_free(*cd);
}
#define AUTO_CRYPT PHX_AUTO(free_device) struct crypt_device *

/* libcryptsetup prints through this by default; libraries here never print. */
static void say_nothing(int level, const char *msg, void *arg)
{
	(void)level;
	(void)msg;
	(void)arg;
}

static int init_device(const char *device, struct crypt_device **ret, struct phx_err *err)
{
	int r = crypt_init(ret, device);
	if (r < 0)
		return phx_err_set(err, r, "%s: %s", device, strerror(-r));
	crypt_set_log_callback(*ret, say_nothing, NULL);
	return 0;
}

static int load_device(const char *device, struct crypt_device **ret, struct phx_err *err)
{
	int r = init_device(device, ret, err);
	if (r < 0)
		return r;
	if (crypt_load(*ret, CRYPT_LUKS2, NULL) < 0)
		return phx_err_set(err, -ENOENT, "%s: holds no intact LUKS2 header", device);
	return 0;
}

static int set_token(struct crypt_device *cd, const char *key_id)
{
	PHX_AUTO_JSON json_t *j = json_pack("{s:s, s:[s], s:s}", "type", TOKEN_TYPE, "keyslots",
					    "0", "key_id", key_id);
	PHX_AUTO_FREE char *text = j ? phx_json_text(j) : NULL;
	if (!text)
		return -EINVAL;
	int r = crypt_token_json_set(cd, CRYPT_ANY_TOKEN, text);
	return r < 0 ? r : 0;
}

static int format_slots(struct crypt_device *cd, const void *key, size_t n_key, const char *key_id)
{
	struct crypt_params_luks2 params = {.label = PHX_DISK_ROOT_LABEL,
					    .sector_size = ENCRYPTION_SECTOR};
	struct crypt_pbkdf_type cheap = {.type = CRYPT_KDF_PBKDF2,
					 .hash = "sha256",
					 .iterations = ITERATIONS,
					 .flags = CRYPT_PBKDF_NO_BENCHMARK};
	int r = crypt_set_pbkdf_type(cd, &cheap);
	if (r >= 0)
		r = crypt_format(cd, CRYPT_LUKS2, "aes", "xts-plain64", NULL, NULL,
				 VOLUME_KEY_BYTES, &params);
	if (r >= 0)
		r = crypt_keyslot_add_by_volume_key(cd, 0, NULL, 0, key, n_key);
	return r < 0 ? r : set_token(cd, key_id);
}

int phx_luks_format(const char *device, const void *key, size_t n_key, const char *key_id,
		    struct phx_err *err)
{
	AUTO_CRYPT cd = NULL;
	int r = init_device(device, &cd, err);
	if (r == 0)
		r = format_slots(cd, key, n_key, key_id);
	return r < 0 ? phx_err_set(err, r, "%s: formatting LUKS2: %s", device, strerror(-r)) : 0;
}

/* The key id of one token, "" when it is not ours. */
static void read_token(const char *text, char ret[64])
{
	PHX_AUTO_JSON json_t *j = NULL;
	ret[0] = '\0';
	if (phx_json_parse(text, strlen(text), &j, NULL) < 0 ||
	    !phx_str_eq(phx_json_str(j, "type", ""), TOKEN_TYPE) ||
	    phx_str_copy(ret, 64, phx_json_str(j, "key_id", "")) < 0)
		ret[0] = '\0';
}

int phx_luks_key_id(const char *device, char ret[64], struct phx_err *err)
{
	AUTO_CRYPT cd = NULL;
	char id[64] = "";
	int r = load_device(device, &cd, err);
	if (r < 0)
		return r;
	for (int i = 0; i < crypt_token_max(CRYPT_LUKS2) && !id[0]; i++) {
		const char *text;
		if (crypt_token_json_get(cd, i, &text) >= 0)
			read_token(text, id);
	}
	return phx_str_copy(ret, 64, id);
}

/* Opens the mapping `name`; NULL: only tries the key. */
static int try_key(struct crypt_device *cd, const char *device, const char *name, const void *key,
		   size_t n_key, struct phx_err *err)
{
	uint32_t flags =
		name ? CRYPT_ACTIVATE_NO_READ_WORKQUEUE | CRYPT_ACTIVATE_NO_WRITE_WORKQUEUE : 0;
	int r = crypt_activate_by_passphrase(cd, name, CRYPT_ANY_SLOT, key, n_key, flags);
	if (r == -EPERM || r == -ENOENT)
		return phx_err_set(err, -EPERM, "%s: the key fits no key slot", device);
	return r < 0 ? phx_err_set(err, r, "%s: opening LUKS2: %s", device, strerror(-r)) : 0;
}

static crypt_status_info mapping_status(void)
{
	/* without a device there is only the library's default for what it would print */
	crypt_set_log_callback(NULL, say_nothing, NULL);
	return crypt_status(NULL, MAPPED_NAME);
}

/* 1 when the mapping is open on `device`, 0 when it is not there, -EBUSY when it is another's. */
static int is_open(const char *device, struct phx_err *err)
{
	AUTO_CRYPT cd = NULL;
	crypt_status_info status = mapping_status();
	if (status != CRYPT_ACTIVE && status != CRYPT_BUSY)
		return 0;
	if (crypt_init_by_name(&cd, MAPPED_NAME) == 0 &&
	    phx_str_eq(crypt_get_device_name(cd), device))
		return 1;
	return phx_err_set(err, -EBUSY, "/dev/mapper/%s: is open on another device than %s",
			   MAPPED_NAME, device);
}

int phx_luks_open(const char *device, const void *key, size_t n_key, char ret_root[64],
		  struct phx_err *err)
{
	AUTO_CRYPT cd = NULL;
	int r = load_device(device, &cd, err);
	if (r == 0)
		r = try_key(cd, device, NULL, key, n_key, err);
	if (r == 0)
		r = is_open(device, err);
	if (r == 0)
		r = try_key(cd, device, MAPPED_NAME, key, n_key, err);
	return r < 0 ? r : phx_str_copy(ret_root, 64, "/dev/mapper/" MAPPED_NAME);
}

int phx_luks_destroy(const char *device, struct phx_err *err)
{
	AUTO_CRYPT cd = NULL;
	int n = 0, r = load_device(device, &cd, err);
	for (int i = 0; r >= 0 && i < crypt_keyslot_max(CRYPT_LUKS2); i++) {
		crypt_keyslot_info info = crypt_keyslot_status(cd, i);
		if (info != CRYPT_SLOT_ACTIVE && info != CRYPT_SLOT_ACTIVE_LAST &&
		    info != CRYPT_SLOT_UNBOUND)
			continue;
		r = crypt_keyslot_destroy(cd, i);
		if (r < 0)
			return phx_err_set(err, r, "%s: destroying key slot %d: %s", device, i,
					   strerror(-r));
		n++;
	}
	return r < 0 ? r : n;
}

int phx_disk_lock(struct phx_err *err)
{
	crypt_status_info status = mapping_status();
	if (status != CRYPT_ACTIVE && status != CRYPT_BUSY)
		return 0;
	int r = crypt_deactivate(NULL, MAPPED_NAME);
	return r < 0 ? phx_err_set(err, r, "/dev/mapper/%s: closing: %s", MAPPED_NAME, strerror(-r))
		     : 0;
}
