// The steps of a plan: what is done, what is destroyed, how long each should take and took.
import { html } from './html.js';
import { took } from './words.js';

const DESTROYS = ['wipe', 'destroy_key', 'image'];

export const destroys = (plan) => (plan?.steps ?? []).some((s) => DESTROYS.includes(s.kind));

function tookOf(step) {
	if (!step.issued_ms)
		return '';
	const end = step.status === 'issued' ? Date.now() : step.ended_ms;
	return end >= step.issued_ms ? took(end - step.issued_ms) : '';
}

// asked: it is only asked about, nothing has been done.
export function Steps({ plan, caption, asked }) {
	return html`<table class="steps"><caption>${caption}</caption>
		<thead><tr><th scope="col">Step</th>${!asked && html`<th scope="col">Status</th>`}<th scope="col">Expected</th>${!asked && html`<th scope="col">Took</th>`}</tr></thead>
		<tbody>${plan.steps.map((s, i) => html`<tr key=${i} class=${DESTROYS.includes(s.kind) ? 'destroys' : ''} aria-current=${i === plan.cursor ? 'step' : undefined}>
			<td>${s.kind}${DESTROYS.includes(s.kind) && html` <b>destroys</b>`}${s.disk && html`<br /><code>${s.disk}</code>`}${s.method && s.kind === 'wipe' && ` (${s.method})`}</td>
			${!asked && html`<td>${s.status}${s.error && html`<br /><span class="bad">${s.error}</span>`}</td>`}
			<td>${took(s.expected_ms ?? 0)}</td>${!asked && html`<td>${tookOf(s)}</td>`}</tr>`)}</tbody></table>`;
}
