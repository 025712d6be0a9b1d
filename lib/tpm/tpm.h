/* The TPM 2.0 of this machine. Used by the agent in the deploy environment, which has what it says
 * of an erase quoted. The key that signs follows from the chip's endorsement seed and a fixed
 * template: nothing is stored, and it is the same at each start. */
#ifndef PHX_TPM_TPM_H
#define PHX_TPM_TPM_H

#include <tss2/tss2_tcti.h>

#include "pki/quote.h"

/** With the kernel's resource manager: what somebody else left in the chip is not in the way. */
#define PHX_TPM_DEVICE "/dev/tpmrm0"

/** A quote for `data` by the TPM behind this device. -ENODEV: there is none; -ENOTSUP: it knows no
 * P-256 or has no SHA-256 registers; -EIO: it answers with an error, which the text names. */
int phx_tpm_quote(const char *device, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		  struct phx_quote *ret, struct phx_err *err);
/** The same over a transport that the caller has opened, and closes. */
int phx_tpm_quote_by(TSS2_TCTI_CONTEXT *tcti, const uint8_t data[PHX_QUOTE_DATA_SIZE],
		     struct phx_quote *ret, struct phx_err *err);

#endif
