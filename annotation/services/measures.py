"""What is kept of how similarities were computed."""

from annotation.models import Measure
from annotation.similarity.base import Similarity


def measure_of(similarity: Similarity) -> Measure:
    """The row of the similarity as it is now; new when it has not been used before."""
    measure, _ = Measure.objects.get_or_create(
        name=similarity.name,
        model=similarity.model,
        version=similarity.version,
        normalisation=similarity.normalisation,
    )
    return measure
