/* What FreeIPMI's programs are told of a BMC: see freeipmi.h. Called by ipmi.c and lib/console.
 * Starts nothing. */
#include "power/freeipmi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "power/driver.h"

/* The workarounds that are FreeIPMI's: all but our own word. */
static void free_workarounds(const struct phx_bmc *bmc, char *ret, size_t size)
{
	char copy[sizeof(bmc->workarounds)];
	PHX_STR_SET(copy, bmc->workarounds);
	char *save = NULL;
	size_t n = 0;
	ret[0] = '\0';
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save))
		if (strcmp(word, "efiboot") && n < size)
			n += (size_t)snprintf(ret + n, size - n, "%s%s", n ? "," : "", word);
}

/* The configuration file that carries the password. Its format has quotes, but
 * no way to write the characters refused here. */
static int free_config(const struct phx_bmc *bmc, char **ret_text, struct phx_err *err)
{
	PHX_AUTO_SECRET char *secret = NULL;
	int r = phx_power_secret_read(bmc->password_file, PHX_FREEIPMI_PASSWORD_MAX, &secret, err);
	if (r < 0)
		return r;
	if (strpbrk(secret, "#\"'\\"))
		return phx_err_set(err, -EINVAL,
				   "password_file %s: FreeIPMI takes no password with # \" ' or "
				   "\\; use tool = \"ipmitool\"",
				   bmc->password_file);
	char *text = phx_path("password \"%s\"\n", secret);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

int phx_freeipmi_make(const struct phx_bmc *bmc, struct phx_freeipmi *ret, struct phx_err *err)
{
	struct phx_power_host host;
	struct phx_freeipmi f = {0};
	int r = phx_power_host_parse(bmc->address, PHX_FREEIPMI_PORT, &host, err);
	r = r ? r : free_config(bmc, &f.config, err);
	if (r < 0)
		return r;
	snprintf(f.host, sizeof(f.host), strchr(host.name, ':') ? "[%s]:%u" : "%s:%u", host.name,
		 host.port);
	free_workarounds(bmc, f.workarounds, sizeof(f.workarounds));
	*ret = f;
	return 0;
}

void phx_freeipmi_fini(struct phx_freeipmi *f)
{
	phx_power_secret_free(&f->config);
}
