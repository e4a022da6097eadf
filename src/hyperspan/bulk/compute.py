"""The model of a bulk job, for processes that have none: it answers requests, and makes no object for a sentence or a mention."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from hyperspan.batch import batch_of
from hyperspan.bulk.requests import Answer, ModelFacts, Request, portable
from hyperspan.errors import EXIT_EXCEPTIONS, JobError
from hyperspan.inference.options import DecodingOptions
from hyperspan.models.base import Model
from hyperspan.structures import Distribution, SegmentalHypergraph
from hyperspan.structures.segmental import chains


class ModelComputer:
    """Computes what the options ask for; several threads may ask at once."""

    def __init__(self, model: Model, options: DecodingOptions):
        self.model, self.options = model, options

    def facts(self, folder: str) -> ModelFacts:
        """What others need of the model, which lies in a folder."""
        model = self.model
        return ModelFacts(
            folder=folder,
            labels=model.labels,
            tokenizer=model.tokenizer,
            max_width=model.max_width,
            context=model.context,
            reads_tags=model.reads_tags,
            joins_documents=model.joins_documents,
            batch_entries=model.batch_entries,
            reads_ids=model.reads_ids,
            reads_characters=model.reads_ids and model.encoder.reads_characters,
        )

    def answer(self, request: Request) -> Answer:
        """The mentions of a batch; an error that is not the batch's, but of the device, is a :class:`JobError`."""
        try:
            with torch.inference_mode():
                return self._found(self._distribution(request))
        except EXIT_EXCEPTIONS:
            raise
        except (MemoryError, torch.OutOfMemoryError):
            pass  # the tensors of the failed computation are gone once this clause is left
        except BaseException as error:
            self._check_device()
            return Answer(error=portable(error))
        if self.model.device.type == "cuda":
            torch.cuda.empty_cache()
        return Answer(too_large=True)

    def _distribution(self, request: Request) -> Distribution:
        if request.arrays is None:
            return self.model.distribution(request.sentences)
        return self.model.distribution_of(batch_of(*request.arrays, self.model.device))

    def _found(self, distribution: Distribution) -> Answer:
        options = self.options
        if not options.types:
            return Answer()
        if len(options.types) < distribution.types:
            distribution = distribution.restrict(options.types)
        marginals = distribution.marginals
        if options.thresholds is None:
            rows = _best_rows(distribution, marginals.device)
        else:
            rows = _rows_above(marginals, options.thresholds)
        sentence, start, end, kind = rows.T
        probabilities = marginals[sentence, start, end - start - 1, kind].clamp(max=1.0).float()
        # In one copy: what comes back from a GPU is waited for.
        found = torch.cat([rows.int(), probabilities.view(torch.int32)[:, None]], dim=1).cpu().numpy()
        return Answer(
            found[:, :4],
            np.ascontiguousarray(found[:, 4]).view(np.float32),
            distribution.topk(options.top_k) if options.top_k else None,
        )

    def _check_device(self) -> None:
        """Raises if a GPU computes nothing any more, as after an error in a kernel."""
        if self.model.device.type != "cuda":
            return
        try:
            torch.cuda.synchronize()
        except BaseException as error:
            raise JobError(f"the GPU has failed ({str(error).strip().partition(chr(10))[0]})") from None


def _best_rows(distribution: Distribution, device: torch.device) -> Tensor:
    """(mentions, 4): sentence, start, end and type of the best mentions."""
    if isinstance(distribution, SegmentalHypergraph):
        return chains.best_rows(distribution.scores, distribution.lengths)
    best = [(b, *mention) for b, mentions in enumerate(distribution.argmax()) for mention in mentions]
    return torch.tensor(best, dtype=torch.long, device=device).reshape(-1, 4)


def _rows_above(marginals: Tensor, least: tuple[float, ...]) -> Tensor:
    """The same for mentions as probable as their type has to be."""
    found = ((marginals >= marginals.new_tensor(least)) & (marginals > 0)).nonzero()  # no threshold lets padding in
    sentence, start, width, kind = found.T
    return torch.stack([sentence, start, start + width + 1, kind], dim=1)
