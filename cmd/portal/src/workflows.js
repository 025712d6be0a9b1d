// The workflows: their runs, and the way to one and to the drawing of a new one. What draws is fetched when it is wanted: most never do.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Progress } from './flow_progress.js';
import { isAbout, lookOf, lookS } from './flow_states.js';
import { Follow } from './follow.js';
import { html } from './html.js';
import { address, go } from './route.js';
import { may } from './session.js';
import { useSubject } from './subject.js';
import { Triggers } from './triggers.js';
import { moment } from './words.js';

const SHOWN = 200;
const DRAW = 'draw';
const OVER = ['done', 'failed', 'cancelled'];

function useRuns() {
	const list = useMemo(() => new Follow(async (ask) => (await ask('/v1/workflows')).workflows.sort((a, b) => b.id - a.id), isAbout, lookS), []);
	useEffect(() => {
		list.run();
		return () => list.stop();
	}, [list]);
	return { runs: useSubject(list.value), error: useSubject(list.error) };
}

function Row({ run }) {
	return html`<tr><td><a href=${address('workflows', String(run.id))}>${run.id}</a></td><td>${run.name || html`<span class="quiet">unnamed</span>`}</td>
		<td><span class=${`state ${lookOf(run.status)}`}>${run.status}</span></td>
		<td class="far"><${Progress} of=${run} /> ${run.n_done} of ${run.n_tasks}</td>
		<td>${run.user}</td><td>${run.re}</td><td>${moment(run.submitted_ms)}</td><td>${run.why}</td></tr>`;
}

function Table({ runs }) {
	if (!runs.length)
		return html`<p class="notice">There are no runs of workflows that you may see.</p>`;
	return html`<div class="wide" tabindex="0" role="region" aria-label="Runs"><table class="jobs"><thead><tr>
		${['Run', 'Name', 'Status', 'Tasks done', 'User', 'RE', 'Submitted', 'Why'].map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
		<tbody>${runs.slice(0, SHOWN).map((r) => html`<${Row} key=${r.id} run=${r} />`)}</tbody></table></div>
		${runs.length > SHOWN && html`<p class="quiet">The newest ${SHOWN} of ${runs.length}.</p>`}`;
}

function Runs() {
	const { runs, error } = useRuns();
	const [all, setAll] = useState(true);
	const shown = (runs ?? []).filter((r) => all || !OVER.includes(r.status));
	return html`<div class="cluster">
		<div class="bar"><h1>Workflows</h1><span class="quiet" role="status">${runs ? shown.length === 1 ? 'one run' : `${shown.length} runs` : 'reading …'}</span>
			<label class="by"><input type="checkbox" checked=${all} onChange=${(e) => setAll(e.target.checked)} /> also those that are over</label>
			${may('job_submit') && html`<button type="button" class="main" onClick=${() => go('workflows', DRAW)}>Draw a workflow</button>`}</div>
		${error && html`<p class="warning" role="alert">${error}</p>`}
		${runs && html`<${Table} runs=${shown} />`}
		<${Triggers} />
	</div>`;
}

function Lazy({ item }) {
	const [room, setRoom] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		import('./flow_room.js').then((m) => setRoom(() => m), () => setError('What draws workflows cannot be fetched: load the page again.'));
	}, []);
	if (error)
		return html`<p class="trouble" role="alert">${error}</p>`;
	if (!room)
		return html`<p role="status">reading …</p>`;
	return item === DRAW ? html`<${room.Editor} />` : html`<${room.Run} key=${item} id=${item} />`;
}

export function Workflows({ item }) {
	const draws = item === DRAW && !may('job_submit');
	return item && !draws ? html`<${Lazy} key=${item === DRAW ? DRAW : 'run'} item=${item} />` : html`<${Runs} />`;
}
