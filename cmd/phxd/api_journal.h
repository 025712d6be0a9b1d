/* Requests of auditors about the journal: the handlers of api_journal.c, and the check of an
 * attestation. */
#ifndef PHXD_API_JOURNAL_H
#define PHXD_API_JOURNAL_H

#include "phxd/daemon.h"

HANDLER(api_journal);
HANDLER(api_journal_state);
/* api_erasures.c */
HANDLER(api_erasure_check);

#endif
