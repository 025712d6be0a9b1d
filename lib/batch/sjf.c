/* Shortest job first (002 3.2): FCFS in order of estimates, of equals by
 * submission, then id; jobs of unknown estimate come last. A running job is never
 * interrupted, and a first job that does not fit blocks the others. */
#include "batch/internal.h"

void phx_batch_order_estimate(const struct phx_batch_job *j, struct phx_batch_node *ret_key)
{
	ret_key->a = phx_batch_estimate(j);
	ret_key->b = j->submit_ms;
	ret_key->c = j->id;
}
