/* A signer whose key is a file at hand (`arg` is its path), where a head asks another process. */
#ifndef TESTS_FAKE_KEY_SIGNER_H
#define TESTS_FAKE_KEY_SIGNER_H

#include "pki/anchor.h"
#include "pki/pki.h"

static inline int fake_key_sign(void *arg, const char *text, char ret[PHX_ANCHOR_SIGNATURE_MAX],
				struct phx_err *err)
{
	uint8_t sig[PHX_SIG_SIZE];
	int r = phx_sign(arg, text, strlen(text), sig, err);
	if (r == 0)
		phx_hex(sig, sizeof(sig), ret);
	return r;
}

#endif
