// What would have been: a question that the head simulates an answer to (POST /v1/what-if), how far it is, and the answer, drawn as what was.
import { useEffect, useState } from 'preact/hooks';
import { get, post } from './api.js';
import { html } from './html.js';
import { Panel } from './panel.js';
import { panels, stepsOfPanel } from './series.js';

const AGAIN_MS = 400;
const path = (id) => `/v1/what-if/${id}`;
const open = (state) => ['waiting', 'reading', 'simulating'].includes(state);

export const ask = (wish) => post('/v1/what-if', wish).then((a) => a.question.id);

// { question, answer } of the question `id` ('': none), read until it is over; error: why it is not known
export function useWhatIf(id) {
	const [shown, setShown] = useState(null);
	const [error, setError] = useState('');
	useEffect(() => {
		const abort = new AbortController();
		let timer;
		const turn = () => get(path(id), { signal: abort.signal, watch: true }).then((a) => {
			setShown(a);
			setError('');
			if (open(a.question.state))
				timer = setTimeout(turn, AGAIN_MS);
		}, (e) => {
			if (e.name === 'AbortError' || e.status === 401)
				return;
			setError(e.message);
			if (!e.status || e.status >= 429)
				timer = setTimeout(turn, e.retryAfterMs || 5 * AGAIN_MS);
		});
		setShown(null);
		setError('');
		if (id)
			turn();
		return () => {
			abort.abort();
			clearTimeout(timer);
		};
	}, [id]);
	return { shown, error };
}

const words = { waiting: 'Waits for its turn', reading: 'Reads the journal', simulating: 'Simulates', failed: 'It could not be simulated', cancelled: 'Cancelled' };

export function Progress({ question }) {
	const percent = Math.round(100 * question.progress);
	if (!open(question.state))
		return words[question.state] ? html`<p class=${question.state === 'failed' ? 'trouble' : 'notice'} role="status">${words[question.state]}${question.error && `: ${question.error}`}.</p>` : null;
	return html`<div class="progress-of"><label>${words[question.state]} <progress max="100" value=${percent}>${percent} %</progress></label>
		<span role="status" class="quiet">${percent} %</span>
		<button type="button" onClick=${() => post(`${path(question.id)}/cancel`).catch(() => {})}>Cancel it</button></div>`;
}

// ---- the answer ----

// What people compare; the others are in the file that is saved.
const metrics = [
	['completed', 'Jobs completed', 0], ['unfinished', 'Jobs not done at the end', 0], ['killed', 'Runs killed for their nodes', 0], ['mean_wait_s', 'Mean wait (s)', 1],
	['max_wait_s', 'Longest wait (s)', 1], ['mean_turnaround_s', 'Mean response time (s)', 1], ['node_hours', 'Node hours held', 2], ['busy_node_hours', 'Of these busy', 2],
	['unmet_node_hours', 'Node hours wanted and not had', 2], ['peak_nodes', 'Most nodes at once', 0], ['nodes_moved', 'Nodes moved', 0],
];
const number = (v, digits) => (v === null || v === undefined ? '' : v.toFixed(digits));

// of: what is added up
export function Compared({ answer, titles, of }) {
	const { agreed, changed } = answer;
	if (agreed.error || changed.error)
		return html`<p class="trouble" role="alert">The cluster could not have been so: ${agreed.error ? `as it was agreed, ${agreed.error}` : changed.error}.</p>`;
	return html`<table class="numbers compared"><caption>Simulated, ${answer.jobs} jobs${answer.left_out > 0 && `; ${answer.left_out} that never began are left out`}</caption>
		<thead><tr><th scope="col">${of}</th>${titles.map((t) => html`<th scope="col" key=${t}>${t}</th>`)}</tr></thead>
		<tbody>${metrics.map(([name, title, digits]) => html`<tr key=${name}><th scope="row">${title}</th><td>${number(agreed.total[name], digits)}</td>
			<td class=${number(agreed.total[name], digits) === number(changed.total[name], digits) ? '' : 'differs'}>${number(changed.total[name], digits)}</td></tr>`)}</tbody></table>`;
}

// As the head tells a time-line, so that the same code draws and saves it.
export const timelineOf = (answer, side, like) => ({ ...like, from_ms: answer.from_ms, until_ms: answer.until_ms, now_ms: answer.until_ms, level: 'moment', pools: answer[side].pools });

const most = (lines) => Math.max(0, ...lines.flatMap((l) => l.steps.map((s) => s.value)));

// sides: [{ title, timeline }], drawn beside each other, of one height; only pools that both have
export function Sides({ sides, span, colourOf, onPick }) {
	const names = sides.map((s) => new Set(s.timeline.pools.map((p) => p.pool)));
	const of = (side, panel) => stepsOfPanel(side.timeline, panel).filter((l) => names.every((n) => n.has(l.pool))).map((l) => ({ ...l, colour: colourOf(l.pool) }));
	return panels.filter((p) => p.name !== 'use').map((panel) => { // nobody simulates processors
		const lines = sides.map((side) => of(side, panel));
		if (lines.every((l) => !l.length))
			return null;
		const top = Math.max(...lines.map(most));
		return html`<div class="pair" key=${panel.name}>${sides.map((side, i) => html`<${Panel} key=${side.title} panel=${{ ...panel, title: `${panel.title}, ${side.title}` }}
			lines=${lines[i]} span=${span} onPick=${onPick} top=${top} />`)}</div>`;
	});
}
