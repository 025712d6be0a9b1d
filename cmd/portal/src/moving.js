// Hand-overs that are under way, each with its step: what the cells only hint at.
import { html } from './html.js';
import { moves } from './nodes.js';
import { address } from './route.js';

const SHOWN = 8;

function Move({ node }) {
	const { steps, cursor = 0, to_role: to } = node.plan;
	const at = steps[cursor];
	return html`<li><a href=${address('cluster', node.name)}>${node.name}</a>
		<progress max=${steps.length} value=${cursor} aria-label=${`Hand-over of ${node.name}`}></progress>
		<span>${at ? `${at.kind} (${cursor + 1} of ${steps.length})` : 'ends'} → ${to || 'free'}</span></li>`;
}

export function Moving({ list }) {
	const moving = list.filter((n) => moves(n) && n.plan?.steps);
	if (!moving.length)
		return null;
	return html`<section class="moving" aria-label="Hand-overs"><h2>${moving.length === 1 ? 'One hand-over' : `${moving.length} hand-overs`} under way</h2>
		<ul>${moving.slice(0, SHOWN).map((n) => html`<${Move} key=${n.name} node=${n} />`)}</ul>
		${moving.length > SHOWN && html`<p class="quiet">and ${moving.length - SHOWN} more</p>`}</section>`;
}
