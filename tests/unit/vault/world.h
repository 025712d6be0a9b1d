/* What the tests of the vault share: an empty directory of a site's keys, and one of keys of
 * disks. */
#ifndef TESTS_VAULT_WORLD_H
#define TESTS_VAULT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/tree.h"
#include "vault/internal.h"

static char dir[64], pki_dir[96], key_dir[96];
static struct phx_vault_config config;

/* Another user may enter it: the vault may become one. */
static int world_make(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/phx-vault.XXXXXX");
	if (!mkdtemp(dir) || chmod(dir, 0755) < 0)
		return -1;
	snprintf(pki_dir, sizeof(pki_dir), "%s/pki", dir);
	snprintf(key_dir, sizeof(key_dir), "%s/keys", dir);
	config = (struct phx_vault_config){.pki_dir = pki_dir, .key_dir = key_dir, .user = ""};
	return mkdir(pki_dir, 0700) < 0 || mkdir(key_dir, 0700) < 0 ? -1 : 0;
}

static int world_end(void **state)
{
	(void)state;
	return phx_dir_remove(dir, NULL);
}

#endif
