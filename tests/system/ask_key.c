/* Asks for the key of a disk as an agent does when it opens an encrypted system: with the node's
 * certificate and key, as of a start of its machine.
 *
 *	ask_key SERVER CA DIR KEY_ID BOOT_ID    agent.key and agent.pem are in DIR
 *
 * Prints the key; 1: it is refused, and why. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/root.h"

enum { ARGS = 6 };

int main(int argc, char **argv)
{
	static struct agent a;
	struct phx_http_client *c = NULL;
	struct phx_err err = {0};
	uint8_t key[PHX_DISK_KEY_SIZE];
	char hex[2 * PHX_DISK_KEY_SIZE + 1];
	if (argc != ARGS)
		return 2;
	PHX_STR_SET(a.cfg.server, argv[1]);
	PHX_STR_SET(a.cfg.ca, argv[2]);
	PHX_STR_SET(a.cfg.state_dir, argv[3]);
	PHX_STR_SET(a.boot_id, argv[5]);
	int r = agent_client(&a, &c, &err);
	r = r ? r : root_disk_key(&a, c, argv[4], key, &err);
	phx_http_client_free(c);
	if (r < 0) {
		printf("%s\n", err.text[0] ? err.text : strerror(-r));
		return 1;
	}
	phx_hex(key, sizeof(key), hex);
	puts(hex);
	return 0;
}
