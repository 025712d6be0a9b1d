/* What the files of `phx image` share. */
#ifndef PHX_CMD_PHX_IMAGE_H
#define PHX_CMD_PHX_IMAGE_H

#include "config/image.h"
#include "phx/cli.h"

/** The store: --dir, else the head's; borrowed. NULL: told, and cli->head_code is the status. */
const char *cli_image_store(struct cli *cli);
/** An image was made in the store: signs it if there is a key, tells it, and has phxd read it. The
 * command's status. */
int cli_image_made(struct cli *cli, const char *dir, const struct phx_image *im);
/** The directory of pack-modules and the list of modules, beside the folder of this program;
 * malloc'd. NULL: told, and the status is CLI_CONFIG. */
char *cli_image_tools(void);
/** Which drivers an image is to have: those of --machines, or of all nodes where a head answers.
 * ret: struct phx_needed_driver, phx_list_fini(). The command's status; told. */
int cli_image_drivers(struct cli *cli, struct phx_list *ret);

#endif
