// The jobs: those that who is signed in may see, why they wait, and the way to submit one.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { html } from './html.js';
import { JobForm } from './job_form.js';
import { JobList } from './job_list.js';
import { JobView, isOver, jobAddress } from './job.js';
import { go } from './route.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { moment } from './words.js';

const SHOWN = 200;

function useJobs() {
	const list = useMemo(() => new JobList(), []);
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	return { list, jobs: useSubject(list.jobs), error: useSubject(list.error) };
}

function Row({ job, here }) {
	return html`<tr aria-current=${here ? 'true' : undefined}><td><a href=${jobAddress(job)}>${job.id}</a></td>
		<td><span class=${`state ${job.state}`}>${job.state}</span></td><td>${job.user}</td><td>${job.re}</td><td>${job.nodes}</td>
		<td>${moment(job.submitted_ms)}</td><td>${job.reason}</td></tr>`;
}

function Table({ jobs, item }) {
	if (!jobs.length)
		return html`<p class="notice">There are no jobs that you may see.</p>`;
	return html`<div class="wide" tabindex="0" role="region" aria-label="Jobs"><table class="jobs"><thead><tr>
		${['Job', 'State', 'User', 'RE', 'Nodes', 'Submitted', 'Why'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
		<tbody>${jobs.slice(0, SHOWN).map((j) => html`<${Row} key=${j.id} job=${j} here=${String(j.id) === item} />`)}</tbody></table></div>
		${jobs.length > SHOWN && html`<p class="quiet">The newest ${SHOWN} of ${jobs.length}.</p>`}`;
}

export function Jobs({ item }) {
	const { list, jobs, error } = useJobs();
	const [all, setAll] = useState(true);
	const [writes, setWrites] = useState(false);
	const shown = (jobs ?? []).filter((j) => all || !isOver(j));
	const done = (id) => {
		setWrites(false);
		list.read().catch(() => {});
		go('jobs', String(id));
	};
	return html`<div class=${`cluster ${item ? 'beside' : ''}`}>
		<div class="bar"><h1>Jobs</h1><span class="quiet" role="status">${jobs ? shown.length === 1 ? 'one job' : `${shown.length} jobs` : 'reading …'}</span>
			<label class="by"><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)} /> also those that are over</label>
			${may('job_submit') && !writes && html`<button type="button" class="main" onClick=${() => setWrites(true)}>Submit a job</button>`}</div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		${writes && html`<${JobForm} onDone=${done} onLeave=${() => setWrites(false)} />`}
		${jobs && html`<${Table} jobs=${shown} item=${item} />`}
		${item && html`<${JobView} key=${item} id=${item} known=${jobs?.find((j) => String(j.id) === item)} />`}
	</div>`;
}
