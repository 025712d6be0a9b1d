/* What an import does with the kernels of a root file system: kernels.c. Called by import.c. */
#ifndef PHX_DEPLOY_IMPORT_H
#define PHX_DEPLOY_IMPORT_H

#include "deploy/store.h"

/** Finds the kernels below `root`, the default first, and fills kernel_release and kernels of
 * `ret`. -EINVAL: there is none, one without its modules, or not the one that im->kernel names. */
int phx_import_kernels(const char *root, const struct phx_image_import *im, struct phx_image *ret,
		       struct phx_err *err);

/** Makes the two files of one of them in directory `out`. Blocks. -EINVAL: a module that a machine
 * needs is not there. */
int phx_import_kernel(const char *root, const struct phx_image_import *im,
		      const struct phx_image_own *k, const char *out, struct phx_err *err);

/** Puts kernel `release`, which is the file `from`, beside its modules below `root`, where no
 * import finds it otherwise: recipes leave kernels out of their roots. 0 also where the root has
 * it, or lacks its modules. */
int phx_import_put_kernel(const char *root, const char *release, const char *from,
			  struct phx_err *err);

#endif
