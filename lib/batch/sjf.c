/* Shortest job first (002 3.2): FCFS in order of the estimates; ties by
 * submission, then id; unknown ones last. Not preemptive, and the head blocks. */
#include "batch/internal.h"

void phx_batch_order_estimate(const struct phx_batch_job *j, struct phx_batch_node *ret_key)
{
	ret_key->a = phx_batch_estimate(j);
	ret_key->b = j->submit_ms;
	ret_key->c = j->id;
}
